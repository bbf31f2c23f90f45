package account

import (
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Environments (§5.2: secrets and keys are per environment).
const (
	Sandbox    = "sandbox"
	Production = "production"
)

// Limits of the state, which the log stores with every event.
const (
	MaxAPIKeys   = 200
	MaxEndpoints = 50
	MaxListeners = 5 // among the endpoints
)

// State is the state of an account after its events.
type State struct {
	ID          domain.AccountID `json:"id"`
	Revision    uint64           `json:"revision"`
	Name        string           `json:"name"`
	Environment string           `json:"environment"`
	CreatedAt   time.Time        `json:"createdAt"`
	UpdatedAt   time.Time        `json:"updatedAt"`
	Settings    Settings         `json:"settings"`
	Processors  []Processor      `json:"processors"` // of the account's creation, and those that were changed; AtEach has all
	Routing     Routing          `json:"routing"`
	APIKeys     []APIKey         `json:"apiKeys"`
	Endpoints   []Endpoint       `json:"endpoints,omitempty"`
	// EndpointsAfter is the place of the newest change of endpoints: per shard an address, and the
	// endpoints are those of the later events.
	EndpointsAfter []uint64      `json:"endpointsAfter,omitempty"`
	Signing        SigningSecret `json:"signingSecret"`
	Users          []User        `json:"users"`

	AnalyticsUsers []AnalyticsUser `json:"analyticsUsers,omitempty"`
	UserSessions   []UserSession   `json:"userSessions,omitempty"` // of the dashboard's users, oldest first; ended ones are gone
	RemovedUsers   []RemovedUser   `json:"removedUsers,omitempty"` // the newest ones, oldest first
}

// Processor is the merchant's account at one processor.
type Processor struct {
	Name       processor.Name `json:"name"`                // the processor
	MerchantID string         `json:"processorMerchantId"` // the merchant's id at the processor
	Enabled    bool           `json:"enabled"`             // reports whether payments may go to it
}

// APIKey is the stored part of an API key.
type APIKey struct {
	ID        domain.APIKeyID `json:"id"`                  // names the key; an event's actor is "api_key:" and this id
	Name      string          `json:"name"`                // the merchant's own name for the key
	Hash      []byte          `json:"sha256"`              // of the whole key text
	Scopes    []string        `json:"scopes"`              // the calls that the key allows (D2)
	CreatedAt time.Time       `json:"createdAt"`           // UTC
	ExpiresAt *time.Time      `json:"expiresAt,omitempty"` // from then on it is invalid, UTC; absent: never
}

// Valid reports whether the key may be used at now.
func (k APIKey) Valid(now time.Time) bool { return k.ExpiresAt == nil || now.Before(*k.ExpiresAt) }

// Allows reports whether the key has the scope (D2), or account:write, whose parts are the scopes
// of settings, keys and users (D22.15).
func (k APIKey) Allows(scope string) bool {
	return slices.Contains(k.Scopes, scope) || slices.Contains(writeScopes, scope) && slices.Contains(k.Scopes, ScopeAccountWrite)
}

// Exists reports whether the account was created.
func (s State) Exists() bool { return s.Revision > 0 }

// Key returns an API key by its id.
func (s State) Key(id domain.APIKeyID) (APIKey, bool) {
	return at(s.APIKeys, slices.IndexFunc(s.APIKeys, func(k APIKey) bool { return k.ID == id }))
}

// at returns the element of a list at an index that a search returned; false for -1.
func at[T any](list []T, i int) (found T, is bool) {
	if i >= 0 {
		return list[i], true
	}
	return found, false
}

// EnabledProcessors lists the merchant accounts that payments may go to, in routing order (D15).
func (s State) EnabledProcessors() []Processor {
	return slices.DeleteFunc(s.AtEach(), func(p Processor) bool { return !p.Enabled })
}

// AtEach returns the merchant account at each processor, in routing order (D15).
func (s State) AtEach() (list []Processor) {
	for _, name := range processor.Names {
		p, _ := s.Processor(name)
		list = append(list, p)
	}
	return list
}

// Processor returns the merchant account at a processor; false if there is no such processor. An
// account that is older than the name of a processor has it too, not enabled: a payment goes to no
// processor that the merchant does not know (D14.1).
func (s State) Processor(name processor.Name) (Processor, bool) {
	if p, has := at(s.Processors, s.place(name)); has {
		return p, true
	}
	if !slices.Contains(processor.Names, name) {
		return Processor{}, false
	}
	return FirstProcessor(s.ID, name, false), true
}

// FirstProcessor returns the merchant account of a new account at a processor.
func FirstProcessor(id domain.AccountID, name processor.Name, enabled bool) Processor {
	return Processor{Name: name, MerchantID: strings.ToLower(string(name)) + "-" + string(id[:min(len(id), 8)]), Enabled: enabled}
}

func (s State) place(name processor.Name) int {
	return slices.IndexFunc(s.Processors, func(p Processor) bool { return p.Name == name })
}
