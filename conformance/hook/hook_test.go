package hook

import (
	"context"
	"testing"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// keyboard is an output that tells no words and knows when the program was stopped.
type keyboard struct{ resumed func() }

func (*keyboard) Present(context.Context, announce.Utterance) error { return nil }
func (*keyboard) Speaks(string) bool                                { return true }
func (*keyboard) Close() error                                      { return nil }
func (*keyboard) Wordless() bool                                    { return true }
func (k *keyboard) OnResume(do func())                              { k.resumed = do }

// What an output can do beside presenting it can do also where the suite is told of it, and no
// output can do none of that.
func TestOutputKeepsItsAbilities(t *testing.T) {
	type able interface {
		Wordless() bool
		OnResume(func())
	}
	k, called := &keyboard{}, false
	through := (&Hook{}).Output(k).(able)
	if through.OnResume(func() { called = true }); k.resumed == nil || !through.Wordless() {
		t.Fatal("the output's own methods are not called")
	}
	if k.resumed(); !called {
		t.Error("the function that was given is not called")
	}
	none := (&Hook{}).Output(nil).(able)
	none.OnResume(func() {})
	if none.Wordless() {
		t.Error("no output tells no words")
	}
}
