mod errors;
mod examples;
mod security;
