package mcp

// tool is one that a server lists.
type tool struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Annotations struct {
		Title       string `json:"title"`
		ReadOnly    bool   `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"` // nil: it may be
	} `json:"annotations"`
}

// isHeld reports whether a call of a tool waits for a yes; nil is a tool that is not listed.
func (t *tool) isHeld(askAll bool) bool {
	switch {
	case t == nil:
		return true
	case t.Annotations.Destructive != nil && *t.Annotations.Destructive: // also where it says that it only reads
		return true
	case t.Annotations.ReadOnly:
		return false
	}
	return askAll || t.Annotations.Destructive == nil
}
