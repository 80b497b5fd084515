package producer

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
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
	key := func(terms handshake.Terms) groupKey {
		sub := &subscription{deliveryCursor: deliveryCursor{terms: &terms}}
		if !sub.computeKey() {
			t.Fatal("these terms have no key")
		}
		return sub.key
	}
	ask := aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "x", Capabilities: aaep.Capabilities{SupportsConfirmationReply: new(true)}}
	negotiate := func(r Rights) handshake.Terms {
		p := quietProducer(t)
		terms, err := handshake.Negotiate(&ask, (&subscription{deliveryCursor: deliveryCursor{p: p}, rights: r}).currentOffer())
		if err != nil {
			t.Fatal(err)
		}
		return terms
	}
	base := negotiate(Rights{Reply: true})
	if key(base) != key(negotiate(Rights{Reply: true})) {
		t.Fatal("those who asked for the same are not together")
	}
	var each func(t reflect.Type, path []int, name string)
	each = func(typ reflect.Type, path []int, name string) {
		for i := range typ.NumField() {
			f, at := typ.Field(i), append(path[:len(path):len(path)], i)
			if f.Type == reflect.TypeFor[handshake.Filters]() {
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
	each(reflect.TypeFor[handshake.Terms](), nil, "")
	for name := range apart {
		t.Errorf("there is no %s", name)
	}
	for _, r := range []Rights{{}, {Reply: true, Withhold: []string{"aaep:agent.output.*"}}} {
		if key(negotiate(r)) == key(base) {
			t.Errorf("who has %+v is with those who may more", r)
		}
	}
	if n := reflect.TypeFor[Rights]().NumField(); n != 2 {
		t.Errorf("Rights has %d fields: a new one that makes a difference to what is heard must be in the terms", n)
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
	g.shaper = shaper.New(handshake.Terms{}, nil)
	var newest *subscription
	for range 10_000 {
		newest = &subscription{woken: make(chan struct{}, 1)}
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
	g.shaper = shaper.New(handshake.Terms{}, nil)
	sub := &subscription{woken: make(chan struct{}, 1)}
	g.addWaiting(sub)
	sub.group.Store(other)
	if g.wakeWaiting(); len(sub.woken) > 0 || other.calls.Load() {
		t.Error("a group lets a member go because another group has paused")
	}
}
