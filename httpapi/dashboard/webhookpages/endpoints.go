package webhookpages

import (
	"cmp"
	"slices"
	"time"

	"payledger/httpapi/dashboard/frame"
)

type endpoint struct {
	ID          string
	URL         string
	Description string
	EventTypes  []string
	Enabled     bool
	CreatedAt   time.Time
}

// Name returns the endpoint's name for people.
func (e endpoint) Name() string { return cmp.Or(e.Description, e.URL) }

type endpointRow struct {
	endpoint
	Health health
}

type endpointsView struct {
	Endpoints []endpointRow
	More      string
	Change    bool
}

// endpointsAtOnce is the length of a page of the list: each endpoint's health takes three calls.
const endpointsAtOnce = "20"

func endpoints(v *frame.Visit) error {
	var page frame.List[endpoint]
	if err := v.Get(apiEndpoints, frame.Query("limit", endpointsAtOnce, "cursor", v.Value("cursor")), &page); err != nil {
		return err
	}
	out := endpointsView{Change: v.Admin()}
	for _, e := range page.Data {
		h, err := healthOf(v, e)
		if err != nil {
			return err
		}
		out.Endpoints = append(out.Endpoints, endpointRow{e, h})
	}
	out.More = frame.At(pathEndpoints, nil, page.NextCursor)
	return v.Show(frame.Page{Name: "endpoints", Title: "Webhook endpoints", Nav: pathEndpoints, Live: true, Data: out})
}

func allEndpoints(v *frame.Visit) ([]endpoint, error) { return frame.All[endpoint](v, apiEndpoints) }

// Names returns the names of the account's endpoints, by their ids.
func Names(v *frame.Visit) (map[string]string, error) {
	all, err := allEndpoints(v)
	names := make(map[string]string, len(all))
	for _, e := range all {
		names[e.ID] = e.Name()
	}
	return names, err
}

func endpointOf(v *frame.Visit) (endpoint, error) {
	return frame.One(v, apiEndpoints, func(e endpoint) bool { return e.ID == v.Request.PathValue("id") },
		frame.Missing("Your account has no webhook endpoint with this id. It may be deleted.", "Look at the list of webhook endpoints."))
}

func named(all []endpoint, id string) (endpoint, bool) {
	if i := slices.IndexFunc(all, func(e endpoint) bool { return e.ID == id }); i >= 0 {
		return all[i], true
	}
	return endpoint{}, false
}

type endpointView struct {
	endpointRow
	Deliveries []deliveryRow
	Change     bool // the user may change it
	Act        bool // the user may test it and replay
}

func showEndpoint(v *frame.Visit, e endpoint) error {
	h, err := healthOf(v, e)
	if err != nil {
		return err
	}
	out := endpointView{endpointRow: endpointRow{e, h}, Change: v.Admin(), Act: !v.Auditor()}
	var page frame.List[deliveryRow]
	if err := v.Get(apiDeliveries, frame.Query("endpointId", e.ID, "limit", "10"), &page); err != nil {
		return err
	}
	out.Deliveries = page.Data
	return v.Show(frame.Page{Name: "endpoint", Title: "Webhook endpoint", Nav: pathEndpoints, Live: true, Data: out})
}
