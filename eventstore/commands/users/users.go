package users

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
)

// Limits of sign-ins on one node.
const (
	MaxCandidates = 8  // users of one name whose verifiers are compared
	AddressTries  = 20 // of an address, a device or a session at once
	MostRecorded  = 20 // failures of a user that are recorded at once

	addressEvery  = 15 * time.Second // an address gets one more try in this time
	recordedEvery = time.Minute      // one more failure of a user is recorded in this time
)

// Config has the dependencies.
type Config struct {
	Accounts *accounts.Accounts
	Root     []byte // of the key that signs tokens; every node has the same
	// Directory returns all accounts as this node knows them.
	Directory func() []account.State
	// Newest returns the newest state of an account, whichever node changed it last; false if there
	// is none.
	Newest func(context.Context, domain.AccountID) (account.State, bool, error)
}

// Users signs users in and out. It is safe for concurrent use.
type Users struct {
	Config
	key      []byte
	tries    limiter
	recorded limiter
	slowdown slowdown
	codes    oneAtATime
}

// New returns a Users.
func New(c Config) (*Users, error) {
	key, err := hkdf.Expand(sha256.New, c.Root, tokenLabel, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("users: the key of tokens: %w", err)
	}
	return &Users{
		Config: c, key: key, codes: make(oneAtATime, 1),
		tries: limiter{most: AddressTries, every: addressEvery}, recorded: limiter{most: MostRecorded, every: recordedEvery},
	}, nil
}

// now is the clock of the log.
func (u *Users) now() time.Time { return u.Accounts.Store.Now() }

func (u *Users) newest(ctx context.Context, id domain.AccountID, user domain.UserID) (account.State, account.User, error) {
	state, _, err := u.Newest(ctx, id)
	found, known := state.User(user)
	if err == nil && !known {
		err = refuse(SessionEnded)
	}
	return state, found, err
}

func (o Origin) caller(owner domain.AccountID, actor string) commands.Caller {
	return commands.Caller{Account: owner, Actor: actor, RequestID: o.RequestID, Origin: o.address()}
}

// address is the browser's address as events have it.
func (o Origin) address() string {
	if !o.From.IsValid() {
		return ""
	}
	return o.From.Unmap().String()
}

func (u *Users) record(ctx context.Context, by commands.Caller, decide func(account.State, time.Time) (account.Event, error)) (account.State, error) {
	tip, err := commands.Request(ctx, u.Accounts.Base, by, u.Accounts.Log.Accounts.Execute, by.Account, decide)
	if domain.ReasonOf(err) == domain.ReasonEntityNotFound { // the user was removed
		err = refuse(SessionEnded)
	}
	return tip.State, refusalOf(err)
}

// Origin says where a command comes from.
type Origin struct {
	From      netip.Addr // the browser's address
	RequestID string     // the events' correlation id
}

// SignInInput is a try to sign in.
type SignInInput struct {
	Email    string // the user's name
	Password string
	Code     string           // of the authenticator app, or for recovery; "" if it was not asked for
	Step     string           // of the refusal that asked for the code; then Email and Password are not read
	Account  domain.AccountID // "": all accounts
	Device   string           // of an earlier sign-in of this browser; "" if there is none
	Origin
}

// SignedIn is a new session.
type SignedIn struct {
	Token     string // proves the session; for a cookie
	ExpiresAt time.Time
	Device    string // of SignIn: makes the browser a known device of the user for DeviceLife; for a cookie
	Account   domain.AccountID
	User      account.User
	Recovery  []string // of ConfirmTOTP: the recovery codes, shown once
}

// Current is the session of a request.
type Current struct {
	Account   account.State // newest
	User      account.User
	Session   account.UserSession
	ExpiresAt time.Time // of the token, or of the renewed one
	Renewed   string    // the token to use from now on; "": the one of the request stays
}

// Actor returns the actor of a user's events.
func Actor(id domain.UserID) string { return "user:" + string(id) }

// PasswordChange is a user's wish for another password.
type PasswordChange struct {
	Old, New string
	Origin
}

// NewFactor is a secret for one-time codes, shown once.
type NewFactor struct {
	Secret string // base32, for people who cannot scan
	URI    string // otpauth://totp/…, for a QR code
}
