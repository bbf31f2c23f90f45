create table if not exists payments (
  id              uuid primary key,
  idempotency_key text unique,
  created_at      timestamptz not null,
  status          text not null,
  order_id        text not null,
  customer_id     text not null,
  currency_code   text not null,
  amount          bigint not null,
  document        json -- the answer; null while a processor's outcome is unknown
);
alter table payments alter column document drop not null; -- folders of earlier programs

create table if not exists events (
  payment_id uuid not null,
  revision   integer not null,
  id         uuid not null,
  type       text not null,
  at         timestamptz not null,
  data       json not null,
  primary key (payment_id, revision)
);

-- An event that is still to be sent. Rows live for milliseconds: vacuum often.
create table if not exists outbox (
  id         uuid primary key, -- the event's
  payment_id uuid not null,
  event_type text not null,
  created_at timestamptz not null,
  attempts   integer not null default 0,
  due        timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

create table if not exists endpoints (
  id          uuid primary key,
  url         text not null,
  description text not null,
  event_types text[] not null, -- none: all
  created_at  timestamptz not null
);

create table if not exists deliveries (
  event_id    uuid not null,
  endpoint_id uuid not null,
  attempt     integer not null,
  status_code integer not null, -- 0: no answer
  at          timestamptz not null,
  primary key (event_id, endpoint_id, attempt)
);
