package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// Event is a fact about an account.
type Event interface {
	domain.Event
	accountEvent()
}

// Events lists every event type.
func Events() []Event {
	return []Event{
		Created{}, APIKeyCreated{}, EndpointCreated{}, RoutingChanged{}, ProcessorChanged{}, SettingsChanged{},
		EndpointChanged{}, EndpointDeleted{}, SigningSecretRotated{}, APIKeyRevoked{}, UserPasswordReset{},
	}
}

// Created says that the account exists, with its first API key, signing secret and user: one decision.
type Created struct {
	At          time.Time        `json:"at"`
	ID          domain.AccountID `json:"id"`
	Name        string           `json:"name"`
	Environment string           `json:"environment"`
	Processors  []Processor      `json:"processors"`
	APIKey      APIKey           `json:"apiKey"`
	Signing     SigningSecret    `json:"signingSecret"`
	User        User             `json:"user"`
}

// APIKeyCreated says that the account has a further API key.
type APIKeyCreated struct {
	At  time.Time `json:"at"`
	Key APIKey    `json:"apiKey"`
}

// RoutingChanged says that these rules replace all routing rules.
type RoutingChanged struct {
	At      time.Time `json:"at"`
	Routing Routing   `json:"routing"`
}

// ProcessorChanged says that the merchant's account at a processor has new data.
type ProcessorChanged struct {
	At        time.Time `json:"at"`
	Processor Processor `json:"processor"`
}

// SettingsChanged says that these settings replace all settings.
type SettingsChanged struct {
	At       time.Time `json:"at"`
	Settings Settings  `json:"settings"`
}

func (Created) Type() string          { return "account.created" }
func (APIKeyCreated) Type() string    { return "account.api_key_created" }
func (RoutingChanged) Type() string   { return "account.routing_changed" }
func (ProcessorChanged) Type() string { return "account.processor_changed" }
func (SettingsChanged) Type() string  { return "account.settings_changed" }

func (Created) accountEvent()          {}
func (APIKeyCreated) accountEvent()    {}
func (RoutingChanged) accountEvent()   {}
func (ProcessorChanged) accountEvent() {}
func (SettingsChanged) accountEvent()  {}

// Evolve returns the state after the event.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Created:
		s.ID, s.Name, s.Environment, s.CreatedAt, s.UpdatedAt = e.ID, e.Name, e.Environment, e.At, e.At
		s.Processors, s.Signing = e.Processors, e.Signing
		s.APIKeys, s.Users = []APIKey{e.APIKey}, []User{e.User}
	case APIKeyCreated:
		s.APIKeys, s.UpdatedAt = append(slices.Clone(s.APIKeys), e.Key), e.At
	case APIKeyRevoked:
		return evolveRevoked(s, e)
	case EndpointCreated, EndpointChanged, EndpointDeleted:
		return evolveEndpoints(s, e)
	case SigningSecretRotated:
		return evolveSigning(s, e)
	case UserPasswordReset:
		return evolvePassword(s, e)
	case RoutingChanged:
		s.Routing, s.UpdatedAt = e.Routing, e.At
	case ProcessorChanged:
		s.Processors, s.UpdatedAt = slices.Clone(s.Processors), e.At
		if i := s.place(e.Processor.Name); i >= 0 {
			s.Processors[i] = e.Processor
		}
	case SettingsChanged:
		s.Settings, s.UpdatedAt = e.Settings, e.At
	}
	return s
}
