//go:build !linux

package writer

func takeLittle(Conn) {}
