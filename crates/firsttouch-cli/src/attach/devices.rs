//! `--near-own-devices` and `--near`: the place that a running process is to go to.

use crate::args::Attach;
use crate::output::{Failure, Outcome};
use firsttouch_launch::Here;
use firsttouch_linux::cpulist::format_list;
use firsttouch_machine::{Near, OwnDevices, OwnPlace, Root};

/// A place next to devices.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) near: Near,
    /// The names of the devices that decided.
    pub(super) devices: Vec<String>,
    /// All that the process uses, where it was asked to be near its own.
    pub(super) own: Option<OwnDevices>,
    /// How it was decided.
    pub(super) notes: Vec<String>,
}

/// The place that was asked for by devices, if so.
pub(super) fn place(args: &Attach, here: &Here, pid: u32) -> Outcome<Option<Place>> {
    let (root, machine) = (Root::live(), here.machine());
    if let Some(device) = &args.near {
        let near = machine.near(&root, device).map_err(Failure::hinted)?;
        let notes = vec![near.to_string()];
        return Ok(Some(Place { devices: vec![near.device.clone()], near, own: None, notes }));
    }
    if !args.near_own_devices {
        return Ok(None);
    }
    let own = machine.own_devices(&root, pid).map_err(Failure::hinted)?;
    let OwnPlace { near, devices, why } = own.place(machine, pid).map_err(Failure::hinted)?;
    let notes = vec![format!("the process goes to node {}: {why}", format_list(&near.nodes))];
    Ok(Some(Place { near, devices, own: Some(own), notes }))
}
