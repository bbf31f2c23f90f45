// Command main reads every message of the stream EVENTS with the CloudEvents SDK, validates it, and prints it as one line of JSON:
// what the SDK makes of it, and the message's headers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	binding "github.com/cloudevents/sdk-go/protocol/nats_jetstream/v2"
	sdk "github.com/cloudevents/sdk-go/v2/binding"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, credentials string) error {
	conn, err := nats.Connect(url, nats.UserCredentials(credentials))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	consumer, err := js.OrderedConsumer(ctx, "EVENTS", jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	for {
		message, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			return err
		}
		if err := show(ctx, message); err != nil {
			return fmt.Errorf("%v: %w", message.Headers(), err)
		}
		if at, err := message.Metadata(); err != nil || at.NumPending == 0 {
			return err
		}
	}
}

func show(ctx context.Context, message jetstream.Msg) error {
	event, err := sdk.ToEvent(ctx, binding.NewMessage(&nats.Msg{Header: message.Headers(), Data: message.Data()}))
	if err != nil {
		return err
	}
	if err := event.Validate(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"id": event.ID(), "type": event.Type(), "source": event.Source(), "subject": event.Subject(), "time": event.Time(),
		"contentType": event.DataContentType(), "data": json.RawMessage(event.Data()), "headers": message.Headers(),
	})
}
