-- The image makes signet_auth itself; the webhooks service owns a database of its own.
create database signet_webhooks owner signet;
