package grpc

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// GRPC-001, D-70: names, numbers and types are those of appendix B.5.1, and there are no others.
func TestDescriptor(t *testing.T) {
	file := aaepv1.File_aaep_v1_aaep_proto
	if file.Package() != "aaep.v1" || file.Syntax() != protoreflect.Proto3 || file.Services().Len() != 1 ||
		file.Enums().Len() != 0 {
		t.Fatalf("the file is %v", file)
	}
	type method struct {
		name, in, out         protoreflect.FullName
		streamsIn, streamsOut bool
	}
	methods := []method{
		{"aaep.v1.AaepService.Subscribe", "aaep.v1.AaepMessage", "aaep.v1.AaepMessage", true, true},
		{"aaep.v1.AaepService.GetManifest", "aaep.v1.GetManifestRequest", "aaep.v1.Manifest", false, false},
	}
	got := file.Services().Get(0).Methods()
	if got.Len() != len(methods) {
		t.Fatalf("%d methods, want %d", got.Len(), len(methods))
	}
	for i, want := range methods {
		m := got.Get(i)
		if is := (method{m.FullName(), m.Input().FullName(), m.Output().FullName(), m.IsStreamingClient(),
			m.IsStreamingServer()}); is != want {
			t.Errorf("method %d is %v, want %v", i, is, want)
		}
	}
	type field struct {
		name   protoreflect.Name
		number protoreflect.FieldNumber
		kind   protoreflect.Kind
	}
	messages := map[protoreflect.Name][]field{
		"AaepMessage":        {{"json", 1, protoreflect.BytesKind}, {"message_type", 2, protoreflect.StringKind}},
		"GetManifestRequest": {},
		"Manifest":           {{"json", 1, protoreflect.BytesKind}},
	}
	if n := file.Messages().Len(); n != len(messages) {
		t.Errorf("%d messages, want %d", n, len(messages))
	}
	for name, want := range messages {
		m := file.Messages().ByName(name)
		if m == nil || m.Fields().Len() != len(want) {
			t.Errorf("%s is %v, want %d fields", name, m, len(want))
			continue
		}
		for i, w := range want {
			f := m.Fields().Get(i)
			if is := (field{f.Name(), f.Number(), f.Kind()}); is != w || f.Cardinality() != protoreflect.Optional ||
				f.HasOptionalKeyword() || f.ContainingOneof() != nil {
				t.Errorf("field %d of %s is %v, want %v", i, name, is, w)
			}
		}
	}
}
