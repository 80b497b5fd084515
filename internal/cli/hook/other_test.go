//go:build !unix

package hook_test

const unix = false
