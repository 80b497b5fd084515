//go:build !linux && !darwin

package writer

func takeLittle(Conn) {}
