package eventjson

import (
	"reflect"
	"strings"
	"testing"

	"payledger/domain/webhook"
)

// TestWebhookEventsAreWhole: no field of an event about webhooks has the name of a field that
// readers of events do not see.
func TestWebhookEventsAreWhole(t *testing.T) {
	for _, e := range webhook.Events() {
		for field := range reflect.TypeOf(e).Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); hidden[name] || name == "" {
				t.Errorf("%s: the field %q is hidden", e.Type(), name)
			}
		}
	}
}
