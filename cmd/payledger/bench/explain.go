package bench

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"payledger/httpapi/client"
)

type metricsError struct{ error }

func (e metricsError) Unwrap() error { return e.error }

// explained returns the error of a service with its flag and a remedy.
func (c *Command) explained(err error, yardstick bool) error {
	flag, url, start := "--url", c.URL, "start one with `payledger serve`, or name it with --url"
	if yardstick {
		flag, url, start = "--yardstick", c.Yardstick, "start it as deploy/yardstick says, or name it with --yardstick"
	}
	var metrics metricsError
	refused := statusOfAnswer(err) == http.StatusUnauthorized
	var network *net.OpError
	switch {
	case errors.Is(err, os.ErrNotExist) && errors.As(err, &metrics):
		return fmt.Errorf("a process has ended, or this is not Linux: %w", err)
	case errors.As(err, &metrics) && !yardstick:
		return fmt.Errorf("--admin-url %s: no metrics: name the server's --admin-listen, or set --admin-url \"\" to do without: %w", c.AdminURL, err)
	case errors.As(err, &metrics):
		return fmt.Errorf("%s %s: no metrics: %w", flag, url, err)
	case refused && yardstick:
		return fmt.Errorf("%s %s refuses the API key: start it with the same key, by its flag --api-key: %w", flag, url, err)
	case refused:
		return fmt.Errorf("%s %s refuses --api-key (PAYLEDGER_API_KEY): use a key of this server: %w", flag, url, err)
	case errors.As(err, &network) && network.Op == "dial":
		return fmt.Errorf("%s %s: no server answers there: %s: %w", flag, url, start, err)
	}
	return fmt.Errorf("%s %s: %w", flag, url, err)
}

func statusOfAnswer(err error) int {
	if wrong, is := errors.AsType[answerError](err); is {
		return wrong.status
	}
	if apiErr, is := errors.AsType[*client.Error](err); is {
		return apiErr.Status
	}
	return 0
}
