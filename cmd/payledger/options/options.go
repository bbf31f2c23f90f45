package options

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/limits"
	"payledger/cmd/payledger/terminal"
	"payledger/domain/account"
	"payledger/eventstore/external"
	"payledger/eventstore/nodes"
	"payledger/eventstore/proof"
	"payledger/eventstore/secrets"
)

// MajorityReads is the value of --reads for reads that rest on no lease.
const MajorityReads = "majority"

// Options are the flags of serve (I1); demo sets its own.
type Options struct {
	Data               string `help:"Data folder." default:"./data" type:"path"`
	Listen             string `help:"Address of the API." default:"127.0.0.1:8080"`
	AdminListen        string `help:"Address of /metrics and /readyz for operators." default:"127.0.0.1:8081"`
	Pprof              bool   `help:"Serve /debug/pprof on the operators' address."`
	BehindProxy        bool   `help:"In production: --listen may be public without TLS, because a proxy ends it."`
	Environment        string `help:"sandbox or production; fixed when the ledger is initialized." enum:"sandbox,production" default:"sandbox"`
	Shards             int    `help:"Number of shard streams of a new log (first start only)." placeholder:"N"`
	Origin             string `help:"Name of the ledger in its checkpoints, for witnesses, for example ledger.example.com/payments (first start only; default: payledger/<id of the log>)." placeholder:"NAME"`
	NATS               `embed:""`
	NatsListen         string        `name:"nats-listen" help:"Address for analysts: keeps the stream EVENTS on a NATS server of its own (default: none)." placeholder:"ADDRESS"`
	EventsRetention    time.Duration `name:"events-retention" help:"How long events stay in the stream EVENTS; 0: for ever." default:"0"`
	MasterKey          string        `help:"Key of the stream of secrets, 64 hexadecimal digits; the sandbox keeps one in the data folder." placeholder:"HEX"`
	MasterKeyFile      string        `help:"File that holds the master key." type:"path"`
	PreviousKey        `embed:""`
	PublicURL          string `name:"public-url" help:"This service as browsers and processors reach it, behind a proxy the proxy's address (default: the listen address)."`
	Processors         `embed:""`
	ProcessorSecrets   `embed:""`
	SimListen          string          `help:"Address of the simulator in this process." default:"127.0.0.1:0"`
	PaymentTimeout     time.Duration   `help:"How long a caller waits for a processor (§8)." default:"90s"`
	ActionTimeout      time.Duration   `help:"How long the customer may take for a required action." default:"24h"`
	ClientTokenTTL     time.Duration   `name:"client-token-ttl" help:"Life of a client token." default:"24h"`
	DisputeLookup      time.Duration   `name:"dispute-lookup" help:"How often processors are asked for disputes whose notification was lost." default:"1m"`
	WebhookTimeout     time.Duration   `help:"How long a webhook's receiver may take." default:"10s"`
	WebhookRetryDelays []time.Duration `name:"webhook-retry-delays" help:"Delays between the attempts of a webhook, each ±10 % (§6.1)." default:"10s,60s,5m,10m,15m"`
	DeliveryRetention  time.Duration   `name:"delivery-retention" help:"How long deliveries of webhooks are kept after they have finished." default:"2160h"`
	WebhookAllowCIDR   []netip.Prefix  `name:"webhook-allow-cidr" help:"Networks that webhooks may go to although they are private."`
	FrameAncestors     []string        `name:"checkout-frame-ancestors" help:"Origins whose pages may show the checkout in a frame (default: none)." placeholder:"ORIGIN"`
	Memory             limits.Size     `help:"Memory that the process stays below, for example 4GiB (default: 75 % of the cgroup's or the machine's)." placeholder:"SIZE"`
	TrustedProxies     []netip.Prefix  `name:"trusted-proxies" help:"Networks of the proxies whose X-Forwarded-For or Forwarded says which client a request is from."`
	MaxConnections     int             `help:"Connections of the API at once (default: by memory and open files)." placeholder:"N"`
	AddressConnections int             `name:"max-connections-per-address" help:"Connections of one client address at once (default: half of all)." placeholder:"N"`
	MaxRequests        int             `help:"Requests that are worked on at once; four times as many wait (default: 48 for each processor of the machine, and 96 at least)." placeholder:"N"`
	WriteTimeout       time.Duration   `help:"How long a client may take nothing of its answer." default:"30s"`
	Drain              time.Duration   `help:"How long the service takes requests after SIGTERM, while /readyz answers 503: the time that the proxy needs to notice." default:"0s"`
	Reads              string          `help:"With --nats-url, what a read of the newest state rests on: lease (a length of time on this machine's clock) or majority (a group in the log for all readers of a moment, and no clock)." enum:"lease,majority" default:"lease"`
	Role               nodes.Role      `help:"With --nats-url, the work of this node: all; api (commands and reads of one payment, without views: lists are read at another node, and webhooks and workflows run there); views (everything, but it owns no shards)." enum:"all,api,views" default:"all"`
	RateLimit          float64         `help:"Requests per second and API key; 0 for no limit." default:"0"`
	TLSCert            string          `name:"tls-cert" help:"Certificate file of the API." type:"path"`
	TLSKey             string          `name:"tls-key" help:"Key file of the API." type:"path"`
	LogLevel           string          `help:"trace, debug, info, warn, error." enum:"trace,debug,info,warn,error" default:"info"`
	LogFormat          string          `help:"json or console; logs go to stderr. auto: console on a terminal, else json." enum:"auto,json,console" default:"auto"`

	Arguments   Arguments     `kong:"-"` // of the process
	ReadTimeout time.Duration `kong:"-"` // of the log; 0 takes the usual one (tests on a busy machine take more)
	faults      []string      // of files that WithFiles could not read
	filesRead   bool          // by WithFiles
}

// NATS are the flags of the connection to an external NATS cluster.
type NATS struct {
	NatsURL   string `name:"nats-url" help:"External NATS cluster instead of the embedded server: the URL of one server, or of several, separated by commas." placeholder:"URL"`
	NatsCreds string `name:"nats-creds" help:"Credentials file for --nats-url." type:"path"`
	NatsCA    string `name:"nats-ca" help:"File with the certificates of the authorities that sign the NATS servers' certificates; TLS is required then." type:"path"`
	NatsCert  string `name:"nats-cert" help:"Client certificate file for --nats-url." type:"path"`
	NatsKey   string `name:"nats-key" help:"Key file of --nats-cert." type:"path"`
}

// PreviousKey are the flags of the master key that a rotation in a cluster replaces.
type PreviousKey struct {
	MasterKeyPrevious     string `help:"While the master key is rotated: the master key before. For --nats-url, and for restore." placeholder:"HEX"`
	MasterKeyPreviousFile string `help:"File that holds the master key before." type:"path"`
}

func (p PreviousKey) read(nats string) (PreviousKey, []string) {
	text, err := ReadSecret("--master-key-previous", p.MasterKeyPrevious, p.MasterKeyPreviousFile)
	if err != nil {
		return p, []string{err.Error()}
	}
	p.MasterKeyPrevious, p.MasterKeyPreviousFile = text, ""
	if text == "" {
		return p, nil
	}
	if _, err := secrets.ParseKey(text); err != nil {
		return p, []string{"--master-key-previous: a key is 64 hexadecimal digits"}
	}
	if nats == "" {
		return p, []string{"--master-key-previous is for --nats-url: `payledger rotate-master-key` replaces the key of a data folder while the service is stopped"}
	}
	return p, nil
}

// Access returns the access to the external cluster.
func (n NATS) Access() external.Access {
	return external.Access{URL: n.NatsURL, Creds: n.NatsCreds, CA: n.NatsCA, Cert: n.NatsCert, Key: n.NatsKey}
}

// Faults returns the faults of the flags.
func (n NATS) Faults() (faults []string) {
	if (n.NatsCert == "") != (n.NatsKey == "") {
		faults = append(faults, "--nats-cert and --nats-key go together")
	}
	if n.NatsURL == "" && n != (NATS{}) {
		faults = append(faults, "--nats-creds, --nats-ca, --nats-cert and --nats-key are for --nats-url, which is missing")
	}
	return faults
}

// Sandbox reports whether the environment is the sandbox.
func (o Options) Sandbox() bool { return o.Environment == account.Sandbox }

// Check returns one error with every fault that the parser does not see.
func (o Options) Check() error { return UsageOf(o.Faults()) }

// Faults returns every fault that the parser does not see.
func (o Options) Faults() []string {
	return slices.Concat(o.limitFaults(), o.NATS.Faults(), o.KeyFaults(), o.processorFaults(), o.productionFaults())
}

// OriginFault returns the fault of an --origin that cannot be the name of a ledger.
func OriginFault(origin string) string {
	return fmt.Sprintf("--origin %q: it must have 1 to 128 visible ASCII characters, no blank and no +", origin)
}

func (o Options) limitFaults() (faults []string) {
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	check(o.PaymentTimeout <= 0 || o.ActionTimeout <= 0 || o.ClientTokenTTL <= 0 || o.WebhookTimeout <= 0,
		"--payment-timeout, --action-timeout, --client-token-ttl and --webhook-timeout must be more than 0")
	outside := func(d time.Duration) bool { return d < time.Millisecond || d > 24*time.Hour }
	check(len(o.WebhookRetryDelays) > maxRetries || slices.ContainsFunc(o.WebhookRetryDelays, outside),
		"--webhook-retry-delays must be at most %d delays, each between 1ms and 24h", maxRetries)
	check(o.DeliveryRetention < minRetention, "--delivery-retention is %s; it must be at least %s", o.DeliveryRetention, minRetention)
	check(o.DisputeLookup < 10*time.Millisecond, "--dispute-lookup must be at least 10ms")
	check(o.Memory != 0 && o.Memory < limits.MinMemory, "--memory must be at least %d MiB", limits.MinMemory>>20)
	check(o.MaxConnections < 0 || o.AddressConnections < 0 || o.MaxRequests < 0,
		"--max-connections, --max-connections-per-address and --max-requests must not be negative")
	check(o.WriteTimeout <= 0, "--write-timeout must be more than 0")
	check(o.Drain < 0, "--drain is %s; it must not be negative", o.Drain)
	check(o.NatsListen != "" && o.NatsURL != "",
		"--nats-listen opens the embedded server's events to analysts, and --nats-url replaces the embedded server: leave one out")
	check(o.Role != "" && o.Role != nodes.RoleAll && o.NatsURL == "",
		"--role %s is for a node of a cluster, with --nats-url: without one, the only node does all of the work", o.Role)
	check(o.EventsRetention != 0 && o.EventsRetention < minRetention, "--events-retention is %s; it must be 0 or at least %s", o.EventsRetention, minRetention)
	check(o.EventsRetention != 0 && o.NatsListen == "", "--events-retention is for the stream EVENTS, which exists only with --nats-listen")
	check(math.IsNaN(o.RateLimit) || o.RateLimit < 0, "--rate-limit is %v; it must be 0 or more", o.RateLimit)
	check(o.PublicURL != "" && publicURL(o.PublicURL) != "", "--public-url must be %s", publicURL(o.PublicURL))
	check(o.Origin != "" && !proof.ValidOrigin(o.Origin), "%s", OriginFault(o.Origin))
	check(o.BesideFault() != "", "%s", o.BesideFault())
	return faults
}

// DefaultWriteTimeout is the default of --write-timeout.
const DefaultWriteTimeout = 30 * time.Second

// minRetention is the shortest retention of deliveries and events. A segment of deliveries is
// closed at most every eighth of it.
const minRetention = time.Minute

const maxRetries = 20

// Logger returns a logger that writes to w in the level and format of the options.
func (o Options) Logger(w io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(o.LogLevel)
	if err != nil {
		return zerolog.Nop(), UsageError{err}
	}
	if o.LogFormat == terminal.Console || terminal.ForPeople(w, o.LogFormat) {
		w = terminal.Pretty(w)
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}

// UsageError is a fault of the command line that the parser does not see.
type UsageError struct{ error }

// Usage returns err as a UsageError.
func Usage(err error) error { return UsageError{err} }

// UsageOf returns one UsageError with all faults, or nil for none.
func UsageOf(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return UsageError{errors.New(strings.Join(faults, "; "))}
}
