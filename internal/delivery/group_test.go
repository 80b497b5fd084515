package delivery

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shaper"
)

// Whatever in the terms makes a difference to a stream keeps a subscription out of the groups of
// subscriptions that differ in it. A field that is added to the terms is either in the key, or is
// named here as one that makes no difference.
func TestGroupKey(t *testing.T) {
	const byItself, told = "each is asked, and waited for, by itself", "it was told, or done, before"
	apart := map[string]string{
		"TimeoutMultiplier": byItself, "MinTimeout": byItself, "IdleTimeout": byItself, "MaxDuration": byItself,
		"MoreTime": told, "ResumeAfter": told, "Notes": told, "granted": told, "resumed": told,
		"Quiet": "whom the Shaper still holds something back from is not settled", "quiet": "what is declared later is declared alone",
		"agreed": "it does what honored and profile say",
	}
	key := func(terms negotiation.Terms) groupKey {
		sub := &Subscription{logCursor: logCursor{terms: &terms}}
		if !sub.computeKey() {
			t.Fatal("these terms have no key")
		}
		return sub.key
	}
	ask := aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "x", Capabilities: aaep.Capabilities{SupportsConfirmationReply: new(true)}}
	negotiate := func(readOnly bool, withhold ...string) negotiation.Terms {
		terms, err := negotiation.Negotiate(&ask, negotiation.Offer{Languages: []string{"en", "es", "yo"}, ReadOnly: readOnly, Withhold: withhold})
		if err != nil {
			t.Fatal(err)
		}
		return terms
	}
	base := negotiate(false)
	if key(base) != key(negotiate(false)) {
		t.Fatal("those who asked for the same are not together")
	}
	var each func(t reflect.Type, path []int, name string)
	each = func(typ reflect.Type, path []int, name string) {
		for i := range typ.NumField() {
			f, at := typ.Field(i), append(path[:len(path):len(path)], i)
			if f.Type == reflect.TypeFor[negotiation.Filters]() {
				each(f.Type, at, name+f.Name+".")
				continue
			}
			other := base
			v := reflect.ValueOf(&other).Elem().FieldByIndex(at)
			vary(t, reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem())
			if why := apart[f.Name]; why == "" && key(other) == key(base) {
				t.Errorf("%s%s makes no difference to which group a listener is in: what is in it must be in the key, or said here", name, f.Name)
			} else if why != "" && key(other) != key(base) {
				t.Errorf("%s%s is in the key, though %s", name, f.Name, why)
			}
			delete(apart, f.Name)
		}
	}
	each(reflect.TypeFor[negotiation.Terms](), nil, "")
	for name := range apart {
		t.Errorf("there is no %s", name)
	}
	for _, other := range []negotiation.Terms{negotiate(true), negotiate(false, "aaep:agent.output.*")} {
		if key(other) == key(base) {
			t.Errorf("subscriptions with %s are with those that may more", other.Profile())
		}
	}
}

// vary sets a value to another one.
func vary(t *testing.T, v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[map[string]json.RawMessage]():
		v.Set(reflect.ValueOf(map[string]json.RawMessage{"x": json.RawMessage(`{}`)}))
	case v.Kind() == reflect.String:
		v.SetString("other")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case v.Kind() == reflect.Struct: // no such field is in the key
	default:
		t.Fatalf("nobody knows how to change a %s", v.Type())
	}
}

// INV-50: a group that never pauses does not grow with the subscriptions that come, wait for it and
// go. The newest are woken when it pauses after all.
func TestWaitingIsBounded(t *testing.T) {
	g := &group{sent: time.Now()}
	g.shaper = shaper.New(negotiation.Terms{}, nil)
	var newest *Subscription
	for range 10_000 {
		newest = &Subscription{woken: make(chan struct{}, 1)}
		g.addWaiting(newest)
		g.addWaiting(newest)
	}
	if n := len(g.waiting); n != maxMembers {
		t.Errorf("%d wait for a group, want %d", n, maxMembers)
	}
	g.wakeWaiting()
	if len(newest.woken) != 1 || !newest.groupPaused.Load() || len(g.waiting) != 0 {
		t.Errorf("the newest is told: %t; %d still wait", newest.groupPaused.Load(), len(g.waiting))
	}
}

// A subscription that a group has taken meanwhile stays there when another group that it waited for
// pauses.
func TestWhoIsServedIsLeftAlone(t *testing.T) {
	g, other := &group{sent: time.Now()}, &group{}
	g.shaper = shaper.New(negotiation.Terms{}, nil)
	sub := &Subscription{woken: make(chan struct{}, 1)}
	g.addWaiting(sub)
	sub.group.Store(other)
	if g.wakeWaiting(); len(sub.woken) > 0 || other.calls.Load() {
		t.Error("a group lets a member go because another group has paused")
	}
}
