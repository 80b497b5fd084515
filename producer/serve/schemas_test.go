package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/aaep-go/aaep/producer"
)

// EXT-011, TR-028: what we send is described where we send it.
func TestSchemasAreServed(t *testing.T) {
	st := startFixture(t, producer.Config{})
	get := func(path, host string) (int, []byte) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+st.addr+path, nil)
		check(t, err)
		if host != "" {
			req.Host = host
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		check(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		check(t, err)
		return resp.StatusCode, body
	}
	status, body := get("/aaep/v1/schemas/events/agent.tool.invoked.schema.json", "")
	var schema struct {
		ID string `json:"$id"`
	}
	if err := json.Unmarshal(body, &schema); status != http.StatusOK || err != nil ||
		schema.ID != "urn:aaep-go:schemas:v1:agent.tool.invoked" {
		t.Errorf("status %d, id %q, %v", status, schema.ID, err)
	}
	if status, _ := get("/aaep/v1/schemas/nothing.json", ""); status != http.StatusNotFound {
		t.Errorf("a schema that is not there: status %d", status)
	}
	if status, _ := get("/aaep/v1/schemas/envelope.schema.json", "rebound.example"); status != http.StatusForbidden {
		t.Errorf("under a foreign name: status %d", status) // INV-44
	}
}
