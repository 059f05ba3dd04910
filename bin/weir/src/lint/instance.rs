//! What a running instance holds, to be looked at.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::Value;
use weir_types::{Content, Name, TypeUrl, Variant, VariantKey};
use weir_wire::json::constraints_from_json;

use super::{Looked, Material, Subject, Subjects};
use crate::operate::AdminArgs;
use crate::operate::admin::Admin;
use crate::operate::output::text;

/// What it lists. Of what comes from a control plane only those variants are held that somebody asked for, so that what
/// is missing is reported by clients that subscribe in vain.
pub(super) fn look(args: &AdminArgs) -> Result<Material> {
    let admin = Admin::new(args)?;
    let mut subjects = Subjects::new();
    for resource in admin.list::<Value>("/resources", &[])? {
        let name = Name::from(text(&resource["name"]).as_str());
        let looked = |variant: &Value| looked(&name, variant);
        let variants: Vec<Looked> = items(&resource["variants"]).map(looked).collect::<Result<_>>()?;
        let whole =
            !variants.is_empty() && items(&resource["variants"]).all(|variant| variant["reach"] == "local");
        let in_vain = items(&resource["asked"]).filter(|asked| {
            asked["served"].is_null() && asked["absence"] != "unknown" && asked["streams"] != 0
        });
        let unanswered =
            in_vain.map(|asked| (asked["parameters"].clone(), asked["streams"].as_u64().unwrap_or_default()));
        let unanswered = unanswered.collect();
        let type_url = TypeUrl::new(text(&resource["type_url"]));
        subjects.insert((type_url, name), Subject { variants, whole, unanswered, violations: Vec::new() });
    }
    Ok(Material { subjects, problems: Vec::new() })
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn looked(name: &Name, variant: &Value) -> Result<Looked> {
    let constraints = constraints_from_json(variant["dynamic_parameter_constraints"].clone())
        .with_context(|| format!("the constraints of {name}"))?;
    // As a name is answered: by what came for it, then by what a wildcard brought, then by what is local.
    let rank = match variant["reach"].as_str() {
        Some("named") => 2,
        Some("wildcard") => 1,
        _ => 0,
    };
    let place = format!("version {}", text(&variant["version"]));
    let variant = Arc::new(Variant::new(VariantKey::new(name.clone(), constraints), Content::default()));
    Ok(Looked { variant, rank, place })
}
