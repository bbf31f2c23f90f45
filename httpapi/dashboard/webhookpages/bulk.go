package webhookpages

import (
	"net/http"
	"strconv"

	"payledger/httpapi/dashboard/frame"
)

const pathBulk = "/dashboard/bulk/resend"

type bulkResend struct {
	frame.Form
	IDs    []string // of the deliveries
	Out    int      // deliveries that cannot be sent: no longer kept, or their endpoint is disabled or deleted
	More   bool     // further deliveries fit the filters
	Back   string   // the address of the list
	Replay string   // the address of the form that replays the period; "" for none
	Result *frame.Bulk
}

func (b bulkResend) page() frame.Page {
	return frame.Page{Name: "bulkresend", Title: "Resend webhooks", Nav: pathDeliveries, Status: b.Status(), Data: b}
}

// askBulk counts the deliveries that fit the filters of the list. Nothing is sent.
func askBulk(v *frame.Visit) error {
	out := bulkResend{Form: frame.Form{Values: v.Request.URL.Query(), Key: v.NewKey()}}
	q := query(&out.Form)
	checkNames(&out.Form)
	out.Back = frame.Address(pathDeliveries, frame.Without(out.Values, "cursor", "done"))
	if !out.Sound() || len(q) == 0 {
		return v.Redirect(out.Back, "") // it needs filters, and the list shows their faults
	}
	all, err := allEndpoints(v)
	if err != nil {
		return err
	}
	q.Set("limit", strconv.Itoa(frame.BulkMost))
	rows, more, err := frame.Some[deliveryRow](v, apiDeliveries, q, 1)
	if err != nil {
		return err
	}
	for _, d := range rows {
		if e, known := named(all, d.EndpointID); d.Dropped || !known || !e.Enabled {
			out.Out++
			continue
		}
		out.IDs = append(out.IDs, d.ID)
	}
	out.More = more
	out.Replay = frame.Address(pathReplays+"/new", frame.Without(out.Values, "cursor", "done", "outcome", "paymentId", "everFailed"))
	return v.Show(out.page())
}

// resendBulk makes one attempt for each delivery that the form carries, each under its own
// idempotency key.
func resendBulk(v *frame.Visit, sent frame.Form) error {
	out := bulkResend{Form: sent, Back: pathDeliveries}
	out.IDs = sent.Values["delivery"]
	switch {
	case sent.Review || len(out.IDs) == 0:
		return v.Redirect(pathDeliveries, "")
	case !frame.SoundBulk(sent.Key, out.IDs):
		out.IDs, out.Refusal.Text = nil, "The form has a delivery that cannot be read. Go back to the list, and begin again."
		return v.Show(out.page())
	}
	result := v.Bulk(sent.Key, out.IDs, func(id, key string) error {
		var after delivery
		if err := v.Send(http.MethodPost, frame.Path("management", "webhook-deliveries", id, "resend"), nil, key, &after); err != nil {
			return err
		}
		if n := len(after.Attempts); n > 0 {
			if why := after.Attempts[n-1].Reason(); why != nil {
				return &frame.Failure{Status: http.StatusBadRequest, Text: why.Text}
			}
		}
		return nil
	})
	out.Result = &result
	return v.Show(out.page())
}
