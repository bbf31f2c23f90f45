package app

import (
	"cmp"
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
	// placesPerProcessor is the number of concurrent requests per CPU, and RoomPerPlace that of
	// waiting requests for each of them. One account alone gets half of the room.
	placesPerProcessor, RoomPerPlace = 48, 4
	// repeatsPerProcessor bounds the refusals per second and CPU of callers that ignore
	// Retry-After. Measured with 2,000 such callers on two CPUs: a refusal takes 0.3 s at 1,700
	// payments/s; with 1,000 per CPU it takes 0.9 s at 2,000 payments/s.
	repeatsPerProcessor = 3000
	// reserve is the number of connections beyond the caps that are kept until they are answered.
	reserve          = 64
	adminConnections = 256
	// One client address may hold 1/addressShare of the connections by default.
	addressShare = 2
)

func (a *App) intakeOf(bounds limits.Bounds) {
	o := a.Options
	places := cmp.Or(o.MaxRequests, placesPerProcessor*max(2, runtime.NumCPU()))
	most := cmp.Or(o.MaxConnections, bounds.Connections(limits.OpenFiles()))
	each := cmp.Or(o.AddressConnections, most/addressShare)
	tally := &intake.Tally{}
	a.Intake = httpapi.Intake{
		Gate: intake.NewGate(places, places*RoomPerPlace), Repeats: intake.NewRepeats(repeatsPerProcessor * max(2, runtime.NumCPU())),
		Bodies: intake.NewBudget(bounds.Bodies), Answers: intake.NewBudget(bounds.Answers),
		Clients: intake.NewClients(o.TrustedProxies, each), Tally: tally,
	}
	a.caps = intake.Caps{
		Connections: most, Reserve: reserve, WriteTimeout: o.WriteTimeout, Clients: intake.NewClients(o.TrustedProxies, each),
		SendMemory: bounds.Send, Tally: tally, Now: time.Now,
	}
	a.log.Info().Int("connections", most).Int("perAddress", each).Int("requests", places).Msg("limits")
}

// adminWeb returns the configuration of the operators' server: few connections, and a reserve for
// probes.
func (a *App) adminWeb(handler http.Handler) web.Config {
	return web.Config{Handler: handler, Surplus: httpapi.Surplus(rand.Reader, handler, a.Intake.Tally), Caps: intake.Caps{
		Connections: adminConnections, Reserve: reserve, WriteTimeout: a.Options.WriteTimeout, Tally: a.Intake.Tally, Now: time.Now,
	}}
}
