package eventlog

import "github.com/aaep-go/aaep"

// eventOverhead is about how many bytes every event takes for its fields, its names and its slot.
const eventOverhead = 1024

// sizeOf returns about how many bytes of memory an event takes, without encoding it. The log calls
// it to keep within its 64 MiB.
func sizeOf(ev *aaep.Event) int {
	n := eventOverhead + textSize(ev.Summary) + payloadSize(ev.Payload) + len(ev.Unknown)
	for _, data := range ev.Extensions {
		n += len(data)
	}
	for _, t := range ev.Translations {
		n += eventOverhead/4 + textSize(t.Summary) + payloadSize(t.Payload)
	}
	return n
}

// textSize returns the bytes of a text in all its lengths.
func textSize(t aaep.Text) int { return len(t.Terse) + len(t.Normal) + len(t.Detailed) }

// payloadSize returns the bytes of a payload that are not in eventOverhead.
func payloadSize(p aaep.Payload) int {
	n := 0
	switch p := p.(type) {
	case *aaep.OutputStreaming:
		n = len(p.Chunk)
	case *aaep.SessionStarted:
		n = len(p.RequestedBy) + len(p.RequestText)
		for _, tool := range p.ToolsAvailable {
			n += 16 + len(tool)
		}
	case *aaep.SessionCompleted:
		n = len(p.OutputSummary) + len(p.ResultURI)
	case *aaep.SessionErrored:
		n = len(p.ErrorCode) + len(p.ErrorURI) + len(p.RemediationHint)
	case *aaep.SessionCancelled:
		n = len(p.CancellationReason) + len(p.PartialResult)
	case *aaep.ProgressUpdated:
		n = len(p.Progress.Description)
	case *aaep.ToolInvoked:
		n = len(p.Tool) + len(p.Description) + len(p.ArgsSummary)
	case *aaep.ToolCompleted:
		n = len(p.Tool) + len(p.ErrorMessage)
	case *aaep.AwaitingConfirmation:
		n = len(p.Action) + len(p.Consequence) + len(p.ExtraContext)
	case *aaep.AwaitingClarification:
		n = len(p.Question) + len(p.Context) + len(p.DefaultResponse)
		for _, c := range p.Choices {
			n += 32 + len(c.Value) + len(c.Label)
		}
	case *aaep.HandoffRequested:
		n = len(p.Reason) + len(p.TargetURI) + len(p.Target) + len(p.PackagedContext) + len(p.ContextSummary)
	}
	return n
}
