package main

import (
	"crypto/rand"
	"net/http"
	"runtime"
	"time"

	"payledger/cmd/payledger/limits"
	"payledger/cmd/payledger/web"
	"payledger/httpapi"
	"payledger/httpapi/intake"
)

const (
	// placesPerProcessor is how many requests are worked on at once for each processor of the machine, and roomPerPlace how many
	// may wait for each of them.
	placesPerProcessor, roomPerPlace = 48, 1
	// repeatsPerProcessor bounds the refusals a second of callers that ignored Retry-After. With 2,000 such callers on two
	// processors a refusal takes 0.3 s, and 1,700 payments a second are made; with 1,000 per processor 0.9 s and 2,000 (measured).
	repeatsPerProcessor = 3000
	// reserve is how many connections beyond the caps are kept until they are answered.
	reserve = 64
	// adminConnections is how many connections the operators' address takes.
	adminConnections = 256
	// addressShare is the part of the connections that one client address may hold by default.
	addressShare = 2
)

// intakeOf makes the limits of the API's requests.
func (a *App) intakeOf(bounds limits.Bounds) {
	o := a.options
	places := o.MaxRequests
	if places == 0 {
		places = placesPerProcessor * max(2, runtime.NumCPU())
	}
	most := o.MaxConnections
	if most == 0 {
		most = bounds.Connections(limits.OpenFiles())
	}
	each := o.AddressConnections
	if each == 0 {
		each = most / addressShare
	}
	tally := &intake.Tally{}
	a.intake = httpapi.Intake{
		Gate: intake.NewGate(places, places*roomPerPlace), Repeats: intake.NewRepeats(repeatsPerProcessor * max(2, runtime.NumCPU())),
		Bodies: intake.NewBudget(bounds.Bodies), Answers: intake.NewBudget(bounds.Answers),
		Clients: intake.NewClients(o.TrustedProxies, each), Tally: tally,
	}
	a.caps = intake.Caps{
		Connections: most, Reserve: reserve, WriteTimeout: o.WriteTimeout, Clients: intake.NewClients(o.TrustedProxies, each),
		Tally: tally, Now: time.Now,
	}
	a.log.Info().Int("connections", most).Int("perAddress", each).Int("requests", places).Msg("limits")
}

// apiWeb says how the API's server serves.
func (a *App) apiWeb(handler http.Handler) web.Config {
	return web.Config{Handler: handler, Surplus: httpapi.Surplus(rand.Reader, handler, a.intake.Tally), Caps: a.caps, TLS: a.tls()}
}

// adminWeb says how the operators' server serves: with few connections, and one in the reserve for probes.
func (a *App) adminWeb(handler http.Handler) web.Config {
	return web.Config{Handler: handler, Surplus: httpapi.Surplus(rand.Reader, handler, a.intake.Tally), Caps: intake.Caps{
		Connections: adminConnections, Reserve: reserve, WriteTimeout: a.options.WriteTimeout, Tally: a.intake.Tally, Now: time.Now,
	}}
}
