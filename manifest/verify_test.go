package manifest

import (
	"crypto"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// INV-40, T-JWS: one case for each clause, nearly all of them well signed by a key that is trusted.
// Each has its own reason, and what is of the peer in the text is fit for a log (INV-36).
func TestVerifyRefuses(t *testing.T) {
	k := keysOf()
	now := now
	keys := set(t, jwk(t, k.es, map[string]any{"kid": "es"}), jwk(t, k.rs, map[string]any{"kid": "rs", "alg": "RS256"}),
		jwk(t, k.ed, map[string]any{"kid": "ed"}),
		jwk(t, k.es, map[string]any{"kid": "enc", "use": "enc"}),
		jwk(t, k.es, map[string]any{"kid": "ops", "key_ops": []string{"deriveKey"}}),
		jwk(t, k.es, map[string]any{"kid": "old", "exp": now.Unix() - 60}),
		jwk(t, k.es, map[string]any{"kid": "soon", "nbf": now.Unix() + 60}),
		jwk(t, k.es, map[string]any{"kid": "twin"}), jwk(t, k.other, map[string]any{"kid": "twin"}),
		jwk(t, k.es, map[string]any{"kid": "pair", "use": "enc"}), jwk(t, k.es, map[string]any{"kid": "pair"}),
		jwk(t, k.weak, map[string]any{"kid": "weak"}), jwk(t, k.es, map[string]any{"kid": "misnamed", "alg": "ES384"}),
		jwk(t, k.p384, map[string]any{"kid": "p384"}),
		map[string]any{"kty": "new"}, // which has no name at all
		map[string]any{"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "oct"},
		map[string]any{"kty": "RSA", "n": b64(new(big.Int).Lsh(big.NewInt(1), 4097).Bytes()), "e": "AQAB",
			"kid": "huge"})
	v := Verifier{Keys: keys}
	es := func(more string) string { return `{"alg":"ES256","kid":"es"` + more + `}` }
	with := func(head string) string { return mint(t, head, planner, k.es) }
	saying := func(payload string) string { return mint(t, es(""), payload, k.es) }
	good := with(es(""))
	part := strings.Split(good, ".")
	der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(unb64(t, part[2])[:32]),
		new(big.Int).SetBytes(unb64(t, part[2])[32:])})
	check(t, err)
	spki, err := x509.MarshalPKIXPublicKey(k.rs.Public())
	check(t, err)
	hs := func(head string, secret []byte) string {
		text := b64([]byte(head)) + "." + b64([]byte(planner))
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		return text + "." + b64(mac.Sum(nil))
	}
	unencoded := b64([]byte(es(`,"b64":false`))) + "." + b64([]byte(planner)) + "."
	jws := func(members map[string]any) string { b, _ := json.Marshal(members); return string(b) }
	attacker, _ := json.Marshal(jwk(t, k.other, nil))
	past, future := fmt.Sprint(now.Unix()-31), fmt.Sprint(now.Unix()+31)

	for name, c := range map[string]struct {
		token string
		want  Refusal
	}{
		"alg none":            {b64([]byte(`{"alg":"none","kid":"es"}`)) + "." + part[1] + ".", ErrUnsigned},
		"alg none, signature": {with(`{"alg":"none","kid":"es"}`), ErrUnsigned},
		"alg NoNe":            {with(`{"alg":"NoNe","kid":"es"}`), ErrUnsigned},
		"signature cut off":   {part[0] + "." + part[1] + ".", ErrUnsigned},
		"plain manifest":      {planner, ErrUnsigned},
		"HMAC, public key PEM": {hs(`{"alg":"HS256","kid":"rs"}`,
			pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki})), errSymmetric},
		"HMAC, public key DER": {hs(`{"alg":"HS256","kid":"rs"}`, spki), errSymmetric},
		"HMAC, oct key": {hs(`{"alg":"HS256","kid":"oct"}`, []byte("secretsecretsecretsecretsecret")),
			errSymmetric},
		"oct key, ES256":       {with(`{"alg":"ES256","kid":"oct"}`), errKeyUse},
		"HMAC 512":             {hs(`{"alg":"HS512","kid":"es"}`, nil), errSymmetric},
		"EdDSA not allowed":    {mint(t, `{"alg":"EdDSA","kid":"ed"}`, planner, k.ed), errAlgorithm},
		"ES384":                {mint(t, `{"alg":"ES384","kid":"p384"}`, planner, k.p384), errAlgorithm},
		"PS256":                {mint(t, `{"alg":"PS256","kid":"rs"}`, planner, k.rs), errAlgorithm},
		"no alg":               {with(`{"kid":"es"}`), errAlgorithm},
		"alg in capitals only": {with(`{"ALG":"ES256","kid":"es"}`), errAlgorithm},
		"alg in small letters": {with(`{"alg":"es256","kid":"es"}`), errAlgorithm},
		"alg with a space":     {with(`{"alg":"ES256 ","kid":"es"}`), errAlgorithm},
		"alg list":             {with(`{"alg":["ES256"],"kid":"es"}`), errHeader},
		"alg twice":            {with(`{"alg":"none","alg":"ES256","kid":"es"}`), errHeader},
		"unknown twice":        {with(es(`,"x":1,"x":2`)), errHeader},
		"nested twice":         {with(es(`,"x":{"y":1,"y":2}`)), errHeader},
		"header not UTF-8":     {with(es(",\"x\":\"\xff\"")), errHeader},
		"header lone half":     {with(es(`,"x":"\ud800"`)), errHeader},
		"deep header":          {with(es(`,"x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64))), errHeader},
		"deep key in header": {with(es(`,"jwk":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000))),
			errHeader},
		"header array":    {with(`["ES256"]`), errHeader},
		"header and more": {with(es("") + "{}"), errHeader},
		"header null":     {with(`null`), errAlgorithm},
		"jwk, no kid": {mint(t, `{"alg":"ES256","jwk":`+string(attacker)+`}`, planner, k.other),
			errEmbeddedKey},
		"jwk, unknown kid": {mint(t, `{"alg":"ES256","kid":"x","jwk":`+string(attacker)+`}`, planner, k.other),
			errEmbeddedKey},
		"jwk, trusted kid": {mint(t, es(`,"jwk":`+string(attacker)), planner, k.other), ErrSignature},
		"jku": {mint(t, `{"alg":"ES256","kid":"x","jku":"https://evil.example/keys"}`, planner,
			k.other), errEmbeddedKey},
		"x5u": {mint(t, `{"alg":"ES256","x5u":"http://169.254.169.254/"}`, planner, k.other),
			errEmbeddedKey},
		"x5c without roots": {mint(t, `{"alg":"ES256","x5c":["AAAA"]}`, planner, k.other), errEmbeddedKey},
		"broken x5c":        {with(es(`,"x5c":["AAAA"]`)), errHeader},
		"crit":              {with(es(`,"crit":["exp"],"exp":` + future)), errCritical},
		"crit empty":        {with(es(`,"crit":[]`)), errCritical},
		"crit null":         {with(es(`,"crit":null`)), errCritical},
		"crit b64, absent":  {with(es(`,"crit":["b64"]`)), errCritical},
		"crit and b64":      {with(es(`,"crit":["b64"],"b64":false`)), errCritical},
		"b64 false": {unencoded +
			b64(signature(t, unencoded[:strings.Index(unencoded, ".")+1]+planner, k.es)), errUnencoded},
		"b64 true":            {with(es(`,"b64":true`)), errUnencoded},
		"zip":                 {with(es(`,"zip":"DEF"`)), errUnencoded},
		"typ of a token":      {with(es(`,"typ":"at+jwt"`)), errType},
		"typ of another":      {with(es(`,"typ":"JOSE+JSON"`)), errType},
		"typ, no text":        {with(es(`,"typ":7`)), errHeader},
		"no kid":              {with(`{"alg":"ES256"}`), ErrUnknownKey},
		"empty kid":           {with(`{"alg":"ES256","kid":""}`), ErrUnknownKey},
		"unknown kid":         {with(`{"alg":"ES256","kid":"../es"}`), ErrUnknownKey},
		"kid in capitals":     {with(`{"alg":"ES256","kid":"ES"}`), ErrUnknownKey},
		"kid, a number":       {with(`{"alg":"ES256","kid":1}`), errHeader},
		"kid of two keys":     {with(`{"alg":"ES256","kid":"twin"}`), errAmbiguousKey},
		"kid of a key twice":  {with(`{"alg":"ES256","kid":"pair"}`), errAmbiguousKey},
		"key for encryption":  {with(`{"alg":"ES256","kid":"enc"}`), errKeyUse},
		"key to derive":       {with(`{"alg":"ES256","kid":"ops"}`), errKeyUse},
		"key for another alg": {with(`{"alg":"ES256","kid":"misnamed"}`), errKeyUse},
		"curve":               {mint(t, `{"alg":"ES256","kid":"p384"}`, planner, k.p384), errKeyUse},
		"RSA key, ES256":      {with(`{"alg":"ES256","kid":"rs"}`), errKeyUse},
		"EC key, RS256":       {mint(t, `{"alg":"RS256","kid":"es"}`, planner, k.rs), errKeyUse},
		"RSA 1024":            {mint(t, `{"alg":"RS256","kid":"weak"}`, planner, k.weak), errKeySize},
		"RSA 4098":            {mint(t, `{"alg":"RS256","kid":"huge"}`, planner, k.rs), errKeySize},
		"key of the past":     {with(`{"alg":"ES256","kid":"old"}`), errKeyPeriod},
		"key of the future":   {with(`{"alg":"ES256","kid":"soon"}`), errKeyPeriod},
		"another's signature": {mint(t, es(""), planner, k.other), ErrSignature},
		"zeros":               {part[0] + "." + part[1] + "." + b64(make([]byte, 64)), ErrSignature},
		"DER":                 {part[0] + "." + part[1] + "." + b64(der), ErrSignature},
		"no r": {part[0] + "." + part[1] + "." +
			b64(append(make([]byte, 32), unb64(t, part[2])[32:]...)), ErrSignature},
		"longer": {good + "AAAA", ErrSignature},
		"payload changed": {part[0] + "." + b64([]byte(strings.Replace(planner, "Planner", "Painter", 1))) + "." +
			part[2], ErrSignature},
		"no payload":           {saying(""), errPayload},
		"payload array":        {saying(`["agent_id"]`), errPayload},
		"payload text":         {saying(`"planner"`), errPayload},
		"payload null":         {saying(`null`), errPayload},
		"payload no JSON":      {saying(`planner`), errPayload},
		"payload and more":     {saying(planner + "{}"), errPayload},
		"agent_id twice":       {saying(`{"agent_id":"other","agent_id":"planner"}`), errPayload},
		"unknown member twice": {saying(`{"agent_id":"planner","new":{"x":1,"x":2}}`), errPayload},
		"payload not UTF-8":    {saying("{\"agent_id\":\"planner\",\"new\":\"\xff\"}"), errPayload},
		"payload lone half":    {saying(`{"agent_id":"planner","new":"\udc00"}`), errPayload},
		"payload with a BOM":   {saying("\ufeff" + planner), errPayload},
		"no agent_id":          {saying(`{"Agent_id":"planner"}`), errPayload},
		"another document":     {saying(`{"agent_id":"planner","type":"aaep:agent.session.started"}`), errPayload},
		"a JWT of another use": {mint(t, es(`,"typ":"JWT"`), `{"agent_id":"planner"}`, k.es), errPayload},
		"exp, text":            {with(es(`,"exp":"tomorrow"`)), errHeader},
		"exp, negative":        {with(es(`,"exp":-1`)), errHeader},
		"exp, huge":            {with(es(`,"exp":1e300`)), errHeader},
		"expired":              {with(es(`,"exp":` + past)), ErrExpired},
		"expired in payload":   {saying(`{"agent_id":"planner","exp":` + past + `}`), ErrExpired},
		"exp twice, one over": {mint(t, es(`,"exp":`+future), `{"agent_id":"planner","exp":`+past+`}`, k.es),
			ErrExpired},
		"nbf twice, one not": {mint(t, es(`,"nbf":`+past), `{"agent_id":"planner","nbf":`+future+`}`, k.es),
			ErrNotYetValid},
		"exp twice, head over": {mint(t, es(`,"exp":`+past), `{"agent_id":"planner","exp":`+future+`}`, k.es),
			ErrExpired},
		"not yet":            {with(es(`,"nbf":` + future)), ErrNotYetValid},
		"signed tomorrow":    {with(es(`,"iat":` + future)), ErrNotYetValid},
		"another agent":      {saying(`{"agent_id":"someone-else"}`), ErrAgent},
		"agent in capitals":  {saying(`{"agent_id":"Planner"}`), ErrAgent},
		"agent with a space": {saying(`{"agent_id":"planner "}`), ErrAgent},
		"empty":              {"", errNotCompact},
		"one part":           {part[0], errNotCompact},
		"two parts":          {part[0] + "." + part[1], errNotCompact},
		"four parts":         {good + "." + part[2], errNotCompact},
		"two tokens":         {good + good, errNotCompact},
		"no header":          {"." + part[1] + "." + part[2], errHeader},
		"line end":           {good + "\n", errNotCompact},
		"line end inside":    {strings.Replace(good, ".", "\n.", 1), errNotCompact},
		"space before":       {" " + good, errNotCompact},
		"padding":            {good + "==", errNotCompact},
		"base64, not url": {part[0] + "." + base64.StdEncoding.EncodeToString([]byte(planner+"   ")) + "+." +
			part[2], errNotCompact},
		"one character left": {good + "B", errNotCompact},
		"flattened JSON": {jws(map[string]any{"protected": part[0], "payload": part[1], "signature": part[2]}),
			errNotCompact},
		"general JSON": {
			jws(map[string]any{"payload": part[1],
				"signatures": []any{map[string]any{"protected": part[0], "signature": part[2]}}}), errNotCompact},
		"JSON, outside alg": {
			jws(map[string]any{"payload": part[1], "header": map[string]any{"alg": "ES256", "kid": "es"},
				"signature": part[2]}), errNotCompact},
		"too long":            {saying(strings.Repeat(" ", maxSigned) + planner), errNotCompact},
		"signs of a terminal": {with("{\"alg\":\"\\u001b[2J\\u202e\\n\",\"kid\":\"es\"}"), errAlgorithm},
		"signs in the kid":    {with("{\"alg\":\"ES256\",\"kid\":\"\\u001b[2J\\u202e\\n\"}"), ErrUnknownKey},
	} {
		m, id, err := v.Verify(c.token, Expect{AgentID: "planner"}, now)
		if m != nil || id != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, m, err, c.want)
		} else if text := err.Error(); aaep.SafeText(text) != text || strings.Contains(text, "\n") ||
			strings.Contains(text, "struct") || len(text) > 500 {
			t.Errorf("%s: its error is not fit for a log: %q", name, text)
		}
	}
}

func unb64(t testing.TB, s string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(s)
	check(t, err)
	return b
}

// SEC-018, D-60, INV-38: what is well signed is taken, whatever unknown things are around it, and
// who signed it is told.
func TestVerify(t *testing.T) {
	k := keysOf()
	keys := set(t,
		jwk(t, k.es, map[string]any{"kid": "es", "use": "sig", "key_ops": []string{"verify", "sign"},
			"exp": now.Unix()}),
		jwk(t, k.rs, map[string]any{"kid": "rs", "alg": "RS256"}), jwk(t, k.ed, map[string]any{"kid": "ed"}))
	attacker, _ := json.Marshal(jwk(t, k.other, nil))
	for name, c := range map[string]struct {
		head, payload string
		key           crypto.Signer
	}{
		"ES256":   {`{"alg":"ES256","kid":"es"}`, planner, k.es},
		"RS256":   {`{"alg":"RS256","kid":"rs"}`, planner, k.rs},
		"EdDSA":   {`{"alg":"EdDSA","kid":"ed"}`, planner, k.ed},
		"JOSE":    {`{"alg":"ES256","kid":"es","typ":"JOSE"}`, planner, k.es},
		"JWT":     {`{"alg":"ES256","kid":"es","typ":"JWT"}`, planner, k.es},
		"ours":    {`{"alg":"ES256","kid":"es","typ":"application/AAEP-manifest+jws"}`, planner, k.es},
		"unknown": {`{"alg":"ES256","kid":"es","x-note":{"a":1},"cty":"json"}`, planner, k.es},
		"spaces":  {" { \"kid\" : \"es\" ,\n\"alg\":\"ES256\" } ", planner, k.es},
		"its own, ignored": {`{"alg":"ES256","kid":"es","jwk":` + string(attacker) +
			`,"jku":"https://evil.example","x5u":"https://evil.example"}`, planner, k.es},
		"at the last moment": {fmt.Sprintf(`{"alg":"ES256","kid":"es","exp":%d,"nbf":%d,"iat":%d}`, now.Unix()-29,
			now.Unix()+30, now.Unix()+30), planner, k.es},
		"unknown member": {`{"alg":"ES256","kid":"es"}`, `{"agent_id":"planner","new":{"x":[1]}}`, k.es},
	} {
		v := Verifier{Keys: keys, Algorithms: []string{ES256, RS256, EdDSA}}
		m, id, err := v.Verify(mint(t, c.head, c.payload, c.key), Expect{AgentID: "planner"}, now)
		if err != nil || m.AgentID != "planner" || id.Thumbprint != thumbprintOf(c.key.Public()) || id.KeyID == "" ||
			id.Certificate != nil {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
	}
	token := mint(t, fmt.Sprintf(`{"alg":"ES256","kid":"es","exp":%d.5,"iat":%d}`, now.Unix()+60, now.Unix()),
		planner, k.es)
	_, id, err := (&Verifier{Keys: keys}).Verify(token, Expect{AgentID: "planner"}, now)
	if err != nil || !id.SignedAt.Equal(now) || !id.ExpiresAt.Equal(now.Add(time.Minute+time.Second/2)) ||
		id.Algorithm != ES256 {
		t.Errorf("%+v, %v", id, err)
	}
	for _, bad := range []string{"none", "HS256", "es256", "ES384", ""} {
		_, _, err := (&Verifier{Keys: keys, Algorithms: []string{ES256, bad}}).Verify(token,
			Expect{AgentID: "planner"}, now)
		if err == nil || !strings.Contains(err.Error(), "Verifier.Algorithms") {
			t.Errorf("with the algorithm %q: %v", bad, err)
		}
	}
	if _, _, err := (&Verifier{Keys: keys, Algorithms: []string{}}).Verify(token, Expect{AgentID: "planner"},
		now); !errors.Is(err, errAlgorithm) {
		t.Errorf("with no algorithm: %v", err)
	}
	if _, _, err := (&Verifier{}).Verify(token, Expect{AgentID: "planner"}, now); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("without keys: %v", err)
	}
}

// INV-38, T-SSRF: reading a token opens nothing, whatever it points to and whatever program looks
// at it.
func TestVerifyFetchesNothing(t *testing.T) {
	k := keysOf()
	elsewhere := publish(t)
	at := elsewhere.URL + "/x"
	for _, head := range []string{`{"alg":"ES256","kid":"es","jku":"` + at + `","x5u":"` + at + `"}`,
		`{"alg":"ES256","jku":"` + at + `"}`, `{"alg":"ES256","kid":"` + at + `","x5u":"` + at + `"}`} {
		token := mint(t, head, `{"agent_id":"planner","@context":"`+at+`","manifest_uri":"`+at+`"}`, k.es)
		v := Verifier{Keys: set(t, jwk(t, k.es, map[string]any{"kid": "es", "jku": at, "x5u": at})),
			Roots: x509.NewCertPool()}
		v.Verify(token, Expect{AgentID: "planner"}, now)
		if _, _, err := ParseUnverified([]byte(token)); err != nil {
			t.Error(err)
		}
	}
	if n := elsewhere.asked.Load(); n != 0 {
		t.Errorf("it was asked for %d times", n)
	}
}
