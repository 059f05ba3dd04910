mod deploy;
mod document;
mod errors;
mod examples;
mod limits;
mod reload;
mod security;
mod telemetry;
