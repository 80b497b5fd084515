package akashik

// NewOver is New over a transport of a test's own.
var NewOver = newOver

// Pushed takes a notification of the subscription sub, as if the field had pushed it.
func (b *Bridge) Pushed(message []byte) {
	b.place.Subscriptions = []string{"sub"}
	b.takePushed(message)
}
