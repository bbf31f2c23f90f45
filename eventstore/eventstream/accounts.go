package eventstream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/jwt/v2"
)

// User is an analyst's program. It reads the events of one account.
type User struct {
	Name string // unique in its account
	Key  string // public key
}

// The subjects in the account of the stream. Each begins with its kind and the merchant's account.
const (
	inboxSubject = "inbox" // answers and messages for users: their _INBOX
	apiSubject   = "api"   // requests of users: their $JS.API
	ackSubject   = "ack"   // acknowledgements of users: their $JS.ACK.EVENTS

	nobodySubject = "nobody" // has no subscription
)

const (
	userAPI   = "$JS.API."
	userAck   = "$JS.ACK." + Name + "."
	userInbox = "_INBOX."
)

// userRequests are the subjects that a user may publish to.
var userRequests = jwt.StringList{
	userAPI + "STREAM.NAMES", userAPI + "STREAM.INFO." + Name, userAPI + "STREAM.MSG.GET." + Name,
	userAPI + "CONSUMER.CREATE." + Name, userAPI + "CONSUMER.CREATE." + Name + ".>", userAPI + "CONSUMER.DURABLE.CREATE." + Name + ".*",
	userAPI + "CONSUMER.INFO." + Name + ".*", userAPI + "CONSUMER.DELETE." + Name + ".*", userAPI + "CONSUMER.MSG.NEXT." + Name + ".*",
	userAck + ">",
}

// Limits of users.
const (
	userPayload       = 16 << 10 // bytes of a request
	userSubscriptions = 20       // of a connection: one for each consumer, and for answers
	userConnections   = 32       // of an account
)

// merchant is a merchant's NATS account. It has no stream: its users' requests go to the gate, in
// the account of the stream.
type merchant struct {
	identity
	users []User
}

// SetUsers sets the users of merchants' accounts. It disconnects users that are no longer in the
// list.
func (s *Server) SetUsers(all map[string][]User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := []string{}
	for account, users := range all {
		if !validName.MatchString(account) {
			return fmt.Errorf("eventstream: %q is no account", account)
		}
		own, err := s.keys.account("of " + account)
		if err != nil {
			return err
		}
		s.merchants[account] = merchant{own, slices.Clone(users)}
		changed = append(changed, own.public)
	}
	if err := s.storeAccounts(); err != nil || s.ns == nil {
		return err
	}
	for _, public := range append(changed, s.events.public) {
		if err := s.reload(public); err != nil {
			return err
		}
	}
	for account := range all {
		if err := s.openGate(account); err != nil {
			return err
		}
	}
	return nil
}

// reload makes the running server use the stored claims of an account.
func (s *Server) reload(public string) error {
	token, err := s.resolver.Fetch(public)
	if err != nil {
		return fmt.Errorf("eventstream: %w", err)
	}
	claims, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return fmt.Errorf("eventstream: %w", err)
	}
	return s.ns.setClaims(public, claims)
}

// Credentials returns the credentials file and the public key of a new user of a merchant's
// account, valid while SetUsers lists the user.
func (s *Server) Credentials(account, name string) (file []byte, public string, err error) {
	if !validName.MatchString(name) {
		return nil, "", errors.New("the name of an analytics user has 1 to 64 letters, digits, - and _")
	}
	pair, public, err := newUser()
	if err != nil {
		return nil, "", err
	}
	own, err := s.keys.account("of " + account)
	if err != nil {
		return nil, "", err
	}
	signer, err := s.keys.account("user " + public)
	if err != nil {
		return nil, "", err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name, claims.IssuerAccount = name, own.public
	claims.SetScoped(true)
	token, err := claims.Encode(signer.pair)
	if err != nil {
		return nil, "", fmt.Errorf("eventstream: user: %w", err)
	}
	seed, err := pair.Seed()
	if err == nil {
		file, err = jwt.FormatUserConfig(token, seed)
	}
	return file, public, err
}

// claims returns the claims of a merchant's account. Each user has a signing key, derived from the
// user's public key. A user's token is valid only if the claims contain this signing key.
func (m merchant) claims(k keys, account string, l limits) (*jwt.AccountClaims, error) {
	claims := jwt.NewAccountClaims(m.public)
	claims.Name = account
	claims.Limits.Conn = int64(l.connectionsOf())
	claims.Limits.LeafNodeConn = 0
	for _, subject := range []jwt.Subject{userAPI + ">", userAck + ">"} {
		claims.Exports.Add(&jwt.Export{Name: string(subject), Subject: subject, Type: jwt.Stream})
	}
	for _, u := range m.users {
		signer, err := k.account("user " + u.Key)
		if err != nil {
			return nil, err
		}
		scope := jwt.NewUserScope()
		scope.Key, scope.Role = signer.public, u.Name
		scope.Template.Pub.Allow = userRequests
		scope.Template.Sub.Allow = jwt.StringList{userInbox + ">"}
		scope.Template.Subs, scope.Template.Payload = userSubscriptions, userPayload
		claims.SigningKeys.AddScopedSigner(scope)
	}
	return claims, nil
}

// connectAccounts connects a merchant's account with the account of the stream. Each import goes
// one way (doc.go).
func connectAccounts(events, of *jwt.AccountClaims, account string) {
	// In an account without JetStream the server would answer all requests to $JS.API, unless the
	// account imports $JS.API.INFO. No user may publish to this import, and it has no subscription.
	of.Imports.Add(&jwt.Import{
		Name: "no JetStream", Account: events.Subject, Type: jwt.Service, Subject: nobodySubject, LocalSubject: userAPI + "INFO",
	})
	of.Imports.Add(&jwt.Import{
		Name: "answers", Account: events.Subject, Type: jwt.Stream,
		Subject: jwt.Subject(inboxSubject + "." + account + ".>"), LocalSubject: jwt.RenamingSubject(userInbox + ">"),
	})
	for subject, local := range map[string]string{userAPI + ">": apiSubject, userAck + ">": ackSubject} {
		events.Imports.Add(&jwt.Import{
			Name: local + " of " + account, Account: of.Subject, Type: jwt.Stream,
			Subject: jwt.Subject(subject), LocalSubject: jwt.RenamingSubject(local + "." + account + ".>"),
		})
	}
}
