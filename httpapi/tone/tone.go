// Package tone has the tone of each status: how good or bad it is for the merchant. Dashboard and
// command line colour a status by it.
package tone

// Tones of a status. A status without one is neutral.
const (
	Good   = "good"
	Bad    = "bad"
	Warn   = "warn"   // somebody waits for something
	Accent = "accent" // well, and not at its end
)

// of has the statuses of payments, operations, disputes, deliveries and workflow runs.
var of = map[string]string{
	"AUTHORIZED": Accent, "PARTIALLY_SETTLED": Accent, "SETTLING": Accent, "SETTLED": Good, "PENDING": Warn,
	"DECLINED": Bad, "FAILED": Bad, "CANCELLED": "",
	"SUCCEEDED": Good, "REQUESTED": Warn, "UNKNOWN": Warn, "ACTION": Warn, "COMPLETED": Good, "RUNNING": Warn,
	"SUCCESS": Good, "WAITING": Warn, "SUPERSEDED": "", "DROPPED": "",
	"PLANNED": Warn, "EXHAUSTED": Bad, "DONE": Good,
	"OPEN": Warn, "CHALLENGED": Accent, "WON": Good, "LOST": Bad, "ACCEPTED": "", "EXPIRED": Bad, "CANCELED": "",
}

// Of returns the tone of a status; "" for a neutral or unknown one.
func Of(status string) string { return of[status] }
