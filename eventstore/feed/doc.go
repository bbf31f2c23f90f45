// Package feed reads the events of a payledger service in another program: every event of an
// account once, in the order of positions, with the domain's types (I2).
//
// HTTP reads from the API with an API key, NATS from the stream EVENTS with a credentials file.
// Both give the same events:
//
//	f := feed.HTTP("http://127.0.0.1:8080", apiKey)
//	for event, err := range f.Follow(ctx, position) {
//		if err != nil {
//			return err
//		}
//		switch fact := event.Fact.(type) {
//		case payment.CaptureRequested:
//			fmt.Println(event.Payment.OrderID, fact.Amount)
//		}
//		position = event.Position // store it with the result; after a restart, begin after it
//	}
//
// Rules:
//
//   - Follow continues after the last event after a broken connection and a restart of the service:
//     no event is missing, and none comes twice.
//   - An event has no personal data and no secrets: such fields of a fact are empty. The id of a
//     session and the token of an instrument are fingerprints.
//   - A type that is newer than this package has no Fact. JSON has the whole event.
//
// The package must not know: the log, and how the service makes the events.
//
// # Place
//
//	outside       cmd
//	log         ► feed
package feed
