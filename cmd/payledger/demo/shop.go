package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
)

// Shop is a small web shop with the hosted checkout. Its pages have no API key.
type Shop struct {
	URL      string
	merchant *merchant
	secret   string // signs webhooks
	server   *http.Server
	pages    *template.Template
	orders   *orders
}

//go:embed shop
var shopFiles embed.FS

// OpenShop opens the shop on a free port of this machine and registers its webhook endpoint.
func OpenShop(ctx context.Context, stage Stage) (_ *Shop, err error) {
	s := &Shop{
		merchant: &merchant{api: stage.API, apiKey: stage.APIKey},
		secret:   stage.SigningSecret,
		orders:   newOrders(),
		pages:    template.Must(template.New("").Funcs(template.FuncMap{"euros": price}).ParseFS(shopFiles, "shop/*.html")),
	}
	if s.URL, s.server, err = serve(ctx, s.handler()); err == nil {
		err = errors.Join(s.nameItself(ctx), s.subscribe(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("shop: %w", err)
	}
	return s, nil
}

func (s *Shop) Close() error { return s.server.Close() }

// nameItself sets the shop's name in the checkout (D20).
func (s *Shop) nameItself(ctx context.Context) error {
	return s.merchant.ask(ctx, request(http.MethodPatch, "/management/settings", map[string]any{"displayName": shopName}), nil)
}

const shopName = "Desk & Paper"

func (s *Shop) subscribe(ctx context.Context) error {
	return s.merchant.ask(ctx, request(http.MethodPost, "/management/webhook-endpoints", map[string]any{
		"url": s.URL + "/webhooks", "description": "the demo's shop", "eventTypes": []string{"PAYMENT.STATUS"},
	}), nil)
}

// handler has the shop's pages and its webhook endpoint. A form of another site is refused.
func (s *Shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.showCart)
	mux.HandleFunc("POST /buy", s.buy)
	mux.HandleFunc("GET /orders/{order}", s.showReceipt)
	mux.HandleFunc("GET /orders/{order}/events", s.follow)
	mux.HandleFunc("POST /webhooks", s.takeWebhook)
	mux.HandleFunc("GET /assets/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, shopFiles, "shop/assets/"+r.PathValue("file"))
	})
	return http.NewCrossOriginProtection().Handler(guarded(mux))
}

func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func price(minor int64) string { return fmt.Sprintf("€%d.%02d", minor/100, minor%100) }
