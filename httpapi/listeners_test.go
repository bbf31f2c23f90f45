package httpapi_test

import (
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/live"
	"payledger/notifier/delivery"
	"payledger/notifier/listener"
)

// readers are the listeners of a rig: a real hub, to which nothing is sent.
type readers struct{ hub *listener.Hub }

func lane(owner domain.AccountID, id domain.EndpointID) string {
	return listener.Endpoint{Account: owner, ID: id}.Lane()
}

func (r readers) Secret(owner domain.AccountID, id domain.EndpointID) string {
	return r.hub.Secret(lane(owner, id))
}

func (r readers) Read(ctx context.Context, owner domain.AccountID, id domain.EndpointID, _ func(live.Webhook) error) error {
	s, err := r.hub.Open(ctx, lane(owner, id))
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err = s.Next(ctx); errors.Is(err, listener.ErrCut) {
		return nil
	}
	return err
}

func (r readers) Answer(ctx context.Context, owner domain.AccountID, id domain.EndpointID, a live.Answer) (bool, error) {
	err := r.hub.Answer(ctx, lane(owner, id), a.ID, listener.Answer{Status: a.Status, Failure: delivery.Failure(a.Failure), Body: a.Body})
	if errors.Is(err, listener.ErrUnknown) {
		return false, nil
	}
	return err == nil, err
}

func (r readers) End(ctx context.Context, owner domain.AccountID, id domain.EndpointID) {
	r.hub.Close(ctx, lane(owner, id))
}

// webhookListener makes a listener. If the account has its maximum, it ends one before.
func webhookListener(r *rig) target {
	var open []domain.EndpointID
	for _, e := range r.accountNow().Endpoints {
		if e.Listener() {
			open = append(open, e.ID)
		}
	}
	if len(open) >= account.MaxListeners {
		r.want(r.manage("DELETE", "/webhook-listeners/"+string(open[0]), ""), 200, "")
	}
	return target{id: r.want(r.post("/management/webhook-listeners", `{}`), 200, "").text1("id")}
}
