package httpapi

import (
	"net/http"
	"net/netip"
	"strings"

	"payledger/eventstore/commands"
	"payledger/httpapi/dashboard"
	"payledger/httpapi/dashboard/frame"
)

// isDashboard reports whether a request is for a page of the dashboard.
func isDashboard(r *http.Request) bool {
	return r.URL.Path == dashboard.Path || strings.HasPrefix(r.URL.Path, dashboard.Path+"/")
}

// dashboardPage answers a request for a page of the dashboard. It takes one place in the gate for all calls that the page makes.
func (c *call) dashboardPage() outcome {
	c.route.access = byPage
	if c.api.Intake.Gate != nil {
		place, ok := c.api.Intake.Gate.Enter(c.Ctx)
		if !ok {
			return c.failPage(c.shed())
		}
		defer place.Leave()
		c.Ctx = commands.WithPlace(c.Ctx, place)
	}
	ctx := frame.WithClient(c.Ctx, c.clientAddr(), c.ID)
	served := c.api.dashboard.Serve(c.w, c.r.WithContext(ctx))
	c.route.path, c.Merchant, c.Actor = served.Route, served.Account, served.Actor
	return outcome{status: served.Status, failure: served.Failure, cut: served.Gone, abort: served.Abort}
}

// clientAddr returns the address of the client: behind a trusted proxy the one that limits count for, else the peer's.
func (c *call) clientAddr() netip.Addr {
	addr, err := netip.ParseAddr(clientAddress(c))
	if err != nil {
		return netip.Addr{} // unknown
	}
	return addr
}
