package options

import (
	"fmt"
	"time"
)

// Time parses the value of a flag with a time as the API does (D1), or a day in UTC, to which it
// adds ofDay. For "" the result is the zero time.
func Time(name, text string, ofDay time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s %q is neither a day such as 2026-03-14 nor a time such as 2026-03-14T09:00:00Z", name, text)
	}
	return day.Add(ofDay), nil
}
