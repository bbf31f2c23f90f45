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
		EndpointChanged{}, EndpointDeleted{}, SigningSecretRotated{}, APIKeyRevoked{}, UserPasswordReset{}, AnalyticsUserCreated{}, AnalyticsUserRemoved{},
		UserAdded{}, UserRoleChanged{}, UserRemoved{}, UserPasswordChanged{}, UserTOTPBegun{}, UserTOTPEnabled{}, UserTOTPDisabled{},
		UserSignedIn{}, UserSignedOut{}, UserSignInFailed{}, UserLocked{},
	}
}

// Created says that the account exists, with its first API key, signing secret and user: one
// decision.
type Created struct {
	At          time.Time        `json:"at"`            // when it was decided, UTC
	ID          domain.AccountID `json:"id"`            // the new account
	Name        string           `json:"name"`          // the merchant's name
	Environment string           `json:"environment"`   // sandbox or production
	Processors  []Processor      `json:"processors"`    // the merchant's accounts at the processors
	APIKey      APIKey           `json:"apiKey"`        // the first API key
	Signing     SigningSecret    `json:"signingSecret"` // the secret that signs webhooks
	User        User             `json:"user"`          // the first user of the dashboard
}

// APIKeyCreated says that the account has a further API key.
type APIKeyCreated struct {
	At  time.Time `json:"at"`     // when it was decided, UTC
	Key APIKey    `json:"apiKey"` // the new key
}

// RoutingChanged says that these rules replace all routing rules.
type RoutingChanged struct {
	At      time.Time `json:"at"`      // when it was decided, UTC
	Routing Routing   `json:"routing"` // all rules from now on
}

// ProcessorChanged says that the merchant's account at a processor has new data.
type ProcessorChanged struct {
	At        time.Time `json:"at"`        // when it was decided, UTC
	Processor Processor `json:"processor"` // the new data
}

// SettingsChanged says that these settings replace all settings.
type SettingsChanged struct {
	At       time.Time `json:"at"`       // when it was decided, UTC
	Settings Settings  `json:"settings"` // all settings from now on
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
		s.APIKeys, s.UpdatedAt = slices.DeleteFunc(slices.Clone(s.APIKeys), func(k APIKey) bool { return k.ID == e.ID }), e.At
	case EndpointCreated, EndpointChanged, EndpointDeleted:
		return evolveEndpoints(s, e)
	case SigningSecretRotated:
		previous := &PreviousSecret{Secret: s.Signing.Secret, ValidUntil: e.PreviousValidUntil, Hint: s.Signing.Hint}
		s.Signing, s.UpdatedAt = SigningSecret{Secret: e.Secret, Hint: e.Hint, CreatedAt: e.At, Previous: previous}, e.At
	case UserAdded, UserRoleChanged, UserRemoved:
		return evolveUsers(s, e)
	case UserPasswordReset, UserPasswordChanged:
		return evolvePassword(s, e)
	case UserTOTPBegun, UserTOTPEnabled, UserTOTPDisabled:
		return evolveTOTP(s, e)
	case UserSignedIn, UserSignedOut, UserSignInFailed, UserLocked:
		return evolveSignIn(s, e)
	case AnalyticsUserCreated:
		return evolveAnalyticsUser(s, e)
	case AnalyticsUserRemoved:
		return evolveNoAnalyticsUser(s, e)
	case RoutingChanged:
		s.Routing, s.UpdatedAt = e.Routing, e.At
	case ProcessorChanged:
		s.Processors, s.UpdatedAt = slices.Clone(s.Processors), e.At
		if i := s.place(e.Processor.Name); i >= 0 {
			s.Processors[i] = e.Processor
		} else {
			s.Processors = append(s.Processors, e.Processor)
		}
	case SettingsChanged:
		s.Settings, s.UpdatedAt = e.Settings, e.At
	}
	return s
}
