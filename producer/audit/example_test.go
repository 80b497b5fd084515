package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/audit"
)

// A trail is kept, its head is put in a safe place, and then a record is changed.
func Example() {
	dir, _ := os.MkdirTemp("", "trail")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "trail.jsonl")

	trail, err := audit.Open(path, audit.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	trail.Record(audit.Record{Kind: audit.Settled, Tool: "transfer_funds", Cause: "replied", Decision: aaep.Accept,
		By: &audit.Subscription{SubscriptionID: "sub_1", Principal: "alice"}})
	trail.Record(audit.Record{Kind: audit.Invoked, Tool: "transfer_funds"})
	head := trail.Head() // keep it where the agent cannot write
	trail.Close()

	data, _ := os.ReadFile(path)
	report, err := audit.Verify(strings.NewReader(string(data)), head)
	fmt.Println(report.Records, "records:", err)

	changed := strings.Replace(string(data), "alice", "carol", 1)
	_, err = audit.Verify(strings.NewReader(changed), head)
	fmt.Println(err)

	short := string(data[:strings.LastIndex(string(data), "{")])
	_, err = audit.Verify(strings.NewReader(short), "")
	fmt.Println("Without a head, missing lines at the end are not noticed:", err)
	_, err = audit.Verify(strings.NewReader(short), head)
	fmt.Println("With it they are:", err != nil)
	// Output:
	// 3 records: <nil>
	// line 2: altered: this is not a line as it was written
	// Without a head, missing lines at the end are not noticed: <nil>
	// With it they are: true
}
