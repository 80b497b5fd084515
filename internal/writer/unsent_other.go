//go:build !linux

package writer

func limitUnsent(Conn) {}
