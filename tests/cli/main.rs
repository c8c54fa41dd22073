//! The `aldis` command as people and programs use it: one module for each subcommand, or for what
//! some have in common. They share a program, because each is linked with the whole controller.

mod app_dev;
mod app_test;
mod apps;
mod bench;
mod churn;
mod decode;
mod emulate;
mod examples;
mod knobs;
mod lab;
mod plans;
mod run;
mod service;
mod store;
mod tls;
