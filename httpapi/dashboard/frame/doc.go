// Package frame is what all pages of the dashboard share: the layout, the calls of the API in the
// name of the signed-in user, forms and their refusals, the words of templates, the stylesheet and
// the script.
//
// A package of pages has templates, each of which defines "content", and screens by the pattern of
// their address. A screen reads with Visit.Get, changes with Visit.Send, and ends with Show,
// Redirect or an error, which becomes a page. With and Sent give a screen the values in its address
// and the form that was sent.
//
// The package must not know: how a user signs in, which screens there are.
package frame
