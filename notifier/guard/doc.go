// Package guard decides where webhooks and the requests of workflows may go (D18).
//
// Webhooks go to public addresses only, over https in production. The rules are the same when an
// endpoint is created (CheckURL) and when a connection opens (Control), because a host name may
// then have another address. The rules apply to every form of an address: full-width digits, IPv4
// inside IPv6, internal names.
//
// Operators allow further networks by Guard.AllowCIDRs. The package must not know: endpoints,
// deliveries.
package guard
