//! What a running instance holds, to be looked at.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;
use weir_admin::{Resource, ResourceVariant};
use weir_types::{Content, Name, TypeUrl, Variant, VariantKey};
use weir_wire::json::constraints_from_json;

use super::{Looked, Material, Subject, Subjects};
use crate::operate::AdminArgs;
use crate::operate::admin::Admin;

/// What it lists. Of what comes from a control plane only those variants are held that somebody asked for, so that what
/// is missing is reported by clients that subscribe in vain.
pub(super) fn look(args: &AdminArgs) -> Result<Material> {
    let admin = Admin::new(args)?;
    let mut subjects = Subjects::new();
    for resource in admin.list::<Resource>("/resources", &[])? {
        let name = Name::from(resource.name);
        let looked = |variant: &ResourceVariant| looked(&name, variant);
        let variants: Vec<Looked> = resource.variants.iter().map(looked).collect::<Result<_>>()?;
        let whole = !variants.is_empty() && resource.variants.iter().all(|variant| variant.reach == "local");
        let in_vain = resource.asked.into_iter().filter(|asked| {
            asked.served.is_none() && asked.absence.as_deref() != Some("unknown") && asked.streams > 0
        });
        let unanswered = in_vain.map(|asked| (json!(asked.parameters), asked.streams as u64)).collect();
        let type_url = TypeUrl::new(resource.type_url);
        subjects.insert((type_url, name), Subject { variants, whole, unanswered, violations: Vec::new() });
    }
    Ok(Material { subjects, problems: Vec::new() })
}

fn looked(name: &Name, variant: &ResourceVariant) -> Result<Looked> {
    let constraints = constraints_from_json(variant.dynamic_parameter_constraints.clone())
        .with_context(|| format!("the constraints of {name}"))?;
    // As a name is answered: by what came for it, then by what a wildcard brought, then by what is local.
    let rank = match &*variant.reach {
        "named" => 2,
        "wildcard" => 1,
        _ => 0,
    };
    let place = format!("version {}", variant.version);
    let variant = Arc::new(Variant::new(VariantKey::new(name.clone(), constraints), Content::default()));
    Ok(Looked { variant, rank, place })
}
