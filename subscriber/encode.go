package subscriber

import (
	"encoding/json"

	"github.com/aaep-go/aaep"
)

// encode writes one of this side's messages. A subscription_id is the producer's to choose: one that is not
// of the prescribed form is echoed as it came (D-44).
func encode(m aaep.Message) ([]byte, error) {
	msg, err := aaep.Encode(m)
	if err == nil {
		return msg, nil
	}
	const standIn = "sub_0"
	var id string
	switch was := m.(type) {
	case *aaep.ConfirmationReply:
		c := *was
		id, c.SubscriptionID, m = was.SubscriptionID, standIn, &c
	case *aaep.ClarificationReply:
		c := *was
		id, c.SubscriptionID, m = was.SubscriptionID, standIn, &c
	case *aaep.SubscriptionRenegotiate:
		c := *was
		id, c.SubscriptionID, m = was.SubscriptionID, standIn, &c
	case *aaep.SubscriptionClose:
		c := *was
		id, c.SubscriptionID, m = was.SubscriptionID, standIn, &c
	}
	rest, other := aaep.Encode(m)
	if id == "" || other != nil {
		return nil, err // something else is wrong
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(rest, &members); err != nil {
		return nil, err
	}
	if members["subscription_id"], err = json.Marshal(id); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}
