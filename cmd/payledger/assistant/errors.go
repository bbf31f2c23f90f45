package assistant

import (
	"errors"
	"fmt"
	"net/url"

	"payledger/httpapi/client"
)

// explained returns an error with everything that the assistant needs to tell a person what to do.
func explained(err error) error {
	if refused, is := errors.AsType[*client.Error](err); is {
		text := fmt.Sprintf("HTTP %d. %s", refused.Status, refused.Error())
		if refused.DiagnosticsID != "" {
			text += " (request " + refused.DiagnosticsID + ")"
		}
		return errors.New(text)
	}
	if broken, is := errors.AsType[*url.Error](err); is {
		return fmt.Errorf("the server does not answer: %w. Is it running, and is --url right?", broken.Err)
	}
	return err
}
