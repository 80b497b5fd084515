// Package aaepv1 is what protoc makes of aaep.proto, the gRPC binding of AAEP (appendix B.5.1). Package grpc speaks it.
package aaepv1
