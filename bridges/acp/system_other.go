//go:build !unix

package acp

// nonblocking is nothing where no folder has named pipes.
const nonblocking = 0
