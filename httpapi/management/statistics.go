package management

import (
	"context"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/httpapi/request"
	"payledger/httpapi/traffic"
	"payledger/httpapi/validation"
	"payledger/projections/deliveries"
	"payledger/projections/statistics"
)

// The longest reports in days.
const (
	maxStatisticsDays = 366
	maxHourlyDays     = 31
)

// countTime bounds the wait for the counts of webhooks.
const countTime = 2 * time.Second

type statisticsAnswer struct {
	statistics.Report
	Webhooks *deliveries.Statistics `json:"webhooks,omitempty"` // nil: they cannot be read now
	Requests traffic.Report         `json:"requests"`           // that the nodes answered
}

// GetStatistics serves GET /management/statistics: the numbers and sums of payments, and the
// success of webhooks, and the requests, for the charts of the dashboard (D20).
func (h *Handlers) GetStatistics(c *request.Call) (any, error) {
	from, to := h.days(c)
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	report, err := h.Reader.Statistics(c.Ctx, c.Merchant.ID, statistics.Query{
		From: from, To: to, Hourly: hourly(c), Currency: domain.Currency(c.Query.Get("currencyCode")), Status: payment.Status(c.Query.Get("status")),
	})
	if err != nil {
		return nil, err
	}
	requests, err := h.Traffic.Report(c.Ctx, c.Merchant.ID, traffic.Period{From: from, To: to, Hourly: hourly(c)}, h.Now())
	if err != nil {
		return nil, err
	}
	return statisticsAnswer{report, h.webhooks(c, deliveries.Period{From: from, To: to, Hourly: hourly(c)}), requests}, nil
}

// webhooks counts the webhooks of a period; nil if they cannot be read: the other counts do not
// depend on them.
func (h *Handlers) webhooks(c *request.Call, p deliveries.Period) *deliveries.Statistics {
	if h.Deliveries == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Ctx, countTime)
	defer cancel()
	found, err := h.Deliveries.Counts(ctx, c.Merchant.ID, p)
	if err != nil {
		h.Logger.Warn().Err(err).Str("requestId", c.ID).Msg("the statistics lack the webhooks")
		return nil
	}
	return &found
}

func hourly(c *request.Call) bool { return c.Query.Get("by") == "hour" }

// days returns the first and the last day of the call. Without to it is today, without from the day
// to.
func (h *Handlers) days(c *request.Call) (from, to statistics.Day) {
	to = statistics.DayOf(h.Now())
	if day := request.Read(c.Query, "to", statistics.ParseDay); day != nil {
		to = *day
	}
	from = to
	if day := request.Read(c.Query, "from", statistics.ParseDay); day != nil {
		from = *day
	}
	return from, to
}

func (h *Handlers) statisticsRules(v *validation.Violations, c *request.Call) {
	for _, name := range []string{"from", "to"} {
		if text := c.Query.Get(name); text != "" && !v.Has("$."+name) && request.Read(c.Query, name, statistics.ParseDay) == nil {
			v.Add("$."+name, "is no day: write it as 2026-03-14")
		}
	}
	from, to := h.days(c)
	switch {
	case v.Has("$.from") || v.Has("$.to"):
	case from > to:
		v.Add("$.from", "must not be after to, which is today if it is absent")
	case to-from >= maxStatisticsDays:
		v.Add("$.from", fmt.Sprintf("must be less than %d days before to", maxStatisticsDays))
	case to-from >= maxHourlyDays && hourly(c):
		v.Add("$.from", fmt.Sprintf("must be less than %d days before to, with by=hour", maxHourlyDays))
	}
}
