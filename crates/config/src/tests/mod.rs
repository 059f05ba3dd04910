mod errors;
mod examples;
