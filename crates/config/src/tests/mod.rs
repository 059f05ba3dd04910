mod deploy;
mod errors;
mod examples;
mod reload;
mod security;
mod telemetry;
