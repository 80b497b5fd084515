package aaep_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/subscriber"
)

// No method of what a program holds while a person waits panics on a nil pointer or on the zero
// value: that would end the agent, or the voice, in the middle of it. All other types have what
// every Go programmer expects of a nil pointer.
func TestNilReceivers(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[*producer.Producer](), reflect.TypeFor[*producer.Session](), reflect.TypeFor[*producer.Output](),
		reflect.TypeFor[*llm.Tap](), reflect.TypeFor[*subscriber.Subscription](), reflect.TypeFor[*subscriber.Question](),
	} {
		for name, receiver := range map[string]reflect.Value{"nil": reflect.Zero(of), "zero": reflect.New(of.Elem())} {
			if of.NumMethod() < 3 {
				t.Errorf("%v has %d methods", of, of.NumMethod())
			}
			for i := range of.NumMethod() {
				if problem := callMethod(t.Context(), receiver.Method(i)); problem != "" {
					t.Errorf("%s of the %s %v panics: %s", of.Method(i).Name, name, of, problem)
				}
			}
		}
	}
}

func TestNilReceiverRuleCanFail(t *testing.T) {
	var broken *counter
	if callMethod(t.Context(), reflect.ValueOf(broken).MethodByName("Count")) == "" {
		t.Error("a method that reads a nil pointer passes")
	}
	if problem := callMethod(t.Context(), reflect.ValueOf(new(counter)).MethodByName("Count")); problem != "" {
		t.Error(problem)
	}
}

type counter struct{ n int }

// Count has each kind of argument.
func (c *counter) Count(context.Context, func() error, int, ...string) int { return c.n }

// callMethod calls a method with zero arguments, but for a context and functions that return zero
// values, and iterates where it returns an iter.Seq. It returns the panic of that, or "".
func callMethod(ctx context.Context, method reflect.Value) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	results := method.Call(zeroArguments(ctx, method.Type()))
	for _, result := range results {
		if result.Kind() == reflect.Func && !result.IsNil() {
			result.Call(zeroArguments(ctx, result.Type()))
		}
	}
	return ""
}

// zeroArguments returns the arguments for callMethod.
func zeroArguments(ctx context.Context, of reflect.Type) (args []reflect.Value) {
	for i := range of.NumIn() {
		switch in := of.In(i); {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(ctx))
		case in.Kind() == reflect.Func:
			args = append(args, reflect.MakeFunc(in, func([]reflect.Value) (results []reflect.Value) {
				for i := range in.NumOut() {
					results = append(results, reflect.Zero(in.Out(i)))
				}
				return results
			}))
		case !of.IsVariadic() || i < of.NumIn()-1:
			args = append(args, reflect.Zero(in))
		}
	}
	return args
}
