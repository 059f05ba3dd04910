mod deploy;
mod document;
mod errors;
mod examples;
mod reload;
mod security;
mod telemetry;
