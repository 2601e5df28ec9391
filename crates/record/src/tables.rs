//! The tables of a result: names, columns and units as in `docs/architecture.md`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt8Array,
    UInt16Array, UInt32Array,
};
use arrow_schema::ArrowError;
use bloatlab_outcome::{HOST, Outcome, PacketEvent, Protocol, Series, Value};
use bloatlab_tcp::segment::MORE;

/// Bits of the `flags` column that are not flags of TCP: a datagram, an echo.
const DATAGRAM: u16 = 0x100;
const ECHO: u16 = 0x200;

fn text<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn numbers(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

/// NaN means that there is no value. Tables have null for it.
fn nullable(values: &[f64]) -> ArrayRef {
    let mut builder = Float64Builder::with_capacity(values.len());
    values
        .iter()
        .for_each(|&v| builder.append_option((!v.is_nan()).then_some(v)));
    Arc::new(builder.finish())
}

/// A column of names, where each name is stored once.
fn names_of(indices: impl Iterator<Item = u32>, names: &[&str]) -> Result<ArrayRef, ArrowError> {
    let keys = arrow_array::Int32Array::from_iter_values(indices.map(|i| i as i32));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
        keys,
        text(names.iter().copied()),
    )?))
}

fn series(series: &Series, entity: &str, names: &[&str]) -> Result<RecordBatch, ArrowError> {
    series_rows(series, entity, names, 0..series.len())
}

/// Some rows of a series, with the columns of its table.
///
/// # Errors
/// None in practice: Arrow checks that columns are of equal length.
pub fn series_rows(
    series: &Series,
    entity: &str,
    names: &[&str],
    rows: Range<usize>,
) -> Result<RecordBatch, ArrowError> {
    let times = series.times().skip(rows.start).take(rows.len());
    let entities = series.entities().skip(rows.start).take(rows.len());
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("time_s", numbers(times)),
        (entity, names_of(entities, names)?),
    ];
    columns.extend(
        series
            .columns
            .iter()
            .map(|(name, values)| (*name, nullable(&values[rows.clone()]))),
    );
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(n, c)| (n, c, n != "time_s" && n != entity)),
    )
}

fn metrics(
    values: &[Value],
    scope: Option<(&str, &[&str])>,
    more: &[(u32, &str, f64)],
) -> Result<RecordBatch, ArrowError> {
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    if let Some((entity, names)) = scope {
        let indices = values
            .iter()
            .map(|v| v.entity)
            .chain(more.iter().map(|m| m.0));
        columns.push((entity, text(indices.map(|i| names[i as usize]))));
    }
    columns.push((
        "metric",
        text(
            values
                .iter()
                .map(|v| v.metric.name)
                .chain(more.iter().map(|m| m.1)),
        ),
    ));
    columns.push((
        "value",
        numbers(
            values
                .iter()
                .map(|v| v.value)
                .chain(more.iter().map(|m| m.2)),
        ),
    ));
    columns.push((
        "unit",
        text(
            values
                .iter()
                .map(|v| v.metric.unit)
                .chain(more.iter().map(|_| "")),
        ),
    ));
    RecordBatch::try_from_iter(columns)
}

/// The histograms. Times are in ms, lengths in packets, and weights are counts, or seconds for `queue_packets`.
fn histograms(outcome: &Outcome) -> Result<RecordBatch, ArrowError> {
    let (mut scope, mut name, mut quantity) = (
        StringDictionaryBuilder::<Int32Type>::new(),
        StringDictionaryBuilder::<Int32Type>::new(),
        StringDictionaryBuilder::<Int32Type>::new(),
    );
    let (mut lower, mut upper, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for distribution in &outcome.distributions {
        let entity = distribution.entity as usize;
        let called = match distribution.scope {
            "flow" => outcome.flows[entity].name.as_str(),
            "link" => &outcome.links[entity].name,
            "probe" => &outcome.probes[entity].name,
            _ => "network",
        };
        let length = distribution.quantity == "queue_packets";
        let (scale, unit) = if length { (1.0, 1e-9) } else { (1e-6, 1.0) };
        for bin in distribution.histogram.bins() {
            scope.append_value(distribution.scope);
            name.append_value(called);
            quantity.append_value(distribution.quantity);
            lower.push(bin.lower as f64 * scale);
            upper.push(bin.upper as f64 * scale);
            weight.push(bin.weight as f64 * unit);
        }
    }
    RecordBatch::try_from_iter([
        ("scope", Arc::new(scope.finish()) as ArrayRef),
        ("name", Arc::new(name.finish()) as ArrayRef),
        ("quantity", Arc::new(quantity.finish()) as ArrayRef),
        ("lower", numbers(lower)),
        ("upper", numbers(upper)),
        ("weight", numbers(weight)),
    ])
}

fn packets(outcome: &Outcome) -> Result<RecordBatch, ArrowError> {
    let log = &outcome.packets;
    let boxes: Vec<&str> = outcome
        .counts
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let u32s = |f: &dyn Fn(&PacketEvent) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(log.iter().map(f)))
    };
    let flags = log.iter().map(|e| match e.protocol {
        Protocol::Tcp => u16::from(e.segment.flags & !MORE),
        Protocol::Udp => DATAGRAM,
        Protocol::Echo => ECHO,
    });
    let place = |number: u32| {
        boxes
            .get(number as usize)
            .copied()
            .unwrap_or(if number == HOST { "host" } else { "" })
    };
    RecordBatch::try_from_iter([
        (
            "time_ns",
            Arc::new(Int64Array::from_iter_values(
                log.iter().map(|e| e.at as i64),
            )) as ArrayRef,
        ),
        ("event", text(log.iter().map(|e| e.step.name()))),
        ("box", text(log.iter().map(|e| place(e.place)))),
        (
            "flow",
            text(
                log.iter()
                    .map(|e| outcome.flow_names[e.flow as usize].as_str()),
            ),
        ),
        (
            "direction",
            Arc::new(UInt8Array::from_iter_values(
                log.iter().map(|e| e.direction),
            )),
        ),
        ("seq", u32s(&|e| e.segment.seq)),
        ("ack", u32s(&|e| e.segment.ack)),
        ("length", u32s(&|e| u32::from(e.segment.length))),
        ("size", u32s(&|e| e.size)),
        ("flags", Arc::new(UInt16Array::from_iter_values(flags))),
        (
            "ecn",
            Arc::new(UInt8Array::from_iter_values(
                log.iter().map(|e| e.ecn as u8),
            )),
        ),
        (
            "dscp",
            Arc::new(UInt8Array::from_iter_values(log.iter().map(|e| e.dscp))),
        ),
    ])
}

/// All tables of an outcome, by name. `packets` is there only if packets were recorded.
///
/// # Errors
/// If columns differ in length, which Arrow checks.
pub fn tables(outcome: &Outcome) -> Result<Vec<(&'static str, RecordBatch)>, ArrowError> {
    let flow_names: Vec<&str> = outcome.flows.iter().map(|f| f.name.as_str()).collect();
    let link_names: Vec<&str> = outcome.links.iter().map(|l| l.name.as_str()).collect();
    let probe_names: Vec<&str> = outcome.probes.iter().map(|p| p.name.as_str()).collect();
    let flows = RecordBatch::try_from_iter([
        ("flow", text(flow_names.iter().copied())),
        ("cca", text(outcome.flows.iter().map(|f| f.cca.as_str()))),
        ("traffic", text(outcome.flows.iter().map(|f| f.traffic))),
        ("start_s", numbers(outcome.flows.iter().map(|f| f.start))),
        ("stop_s", numbers(outcome.flows.iter().map(|f| f.stop))),
        (
            "base_rtt_ms",
            numbers(outcome.flows.iter().map(|f| f.base_rtt)),
        ),
        (
            "mss",
            Arc::new(UInt32Array::from_iter_values(
                outcome.flows.iter().map(|f| f.mss),
            )),
        ),
    ])?;
    let links = RecordBatch::try_from_iter([
        ("link", text(link_names.iter().copied())),
        ("rate_mbps", numbers(outcome.links.iter().map(|l| l.rate))),
        ("delay_ms", numbers(outcome.links.iter().map(|l| l.delay))),
        ("queue", text(outcome.links.iter().map(|l| l.queue))),
    ])?;
    let probes = RecordBatch::try_from_iter([
        ("probe", text(probe_names.iter().copied())),
        (
            "interval_ms",
            numbers(outcome.probes.iter().map(|p| p.interval)),
        ),
        (
            "size",
            Arc::new(Int64Array::from_iter_values(
                outcome.probes.iter().map(|p| p.size as i64),
            )) as ArrayRef,
        ),
    ])?;
    let mut tables = vec![
        ("flows", flows),
        ("links", links),
        ("probes", probes),
        (
            "flow_series",
            series(&outcome.flow_series, "flow", &flow_names)?,
        ),
        (
            "link_series",
            series(&outcome.link_series, "link", &link_names)?,
        ),
        (
            "probe_series",
            series(&outcome.probe_series, "probe", &probe_names)?,
        ),
        (
            "flow_metrics",
            metrics(&outcome.flow_metrics, Some(("flow", &flow_names)), &[])?,
        ),
        (
            "link_metrics",
            metrics(
                &outcome.link_metrics,
                Some(("link", &link_names)),
                &outcome.queue_stats,
            )?,
        ),
        (
            "probe_metrics",
            metrics(&outcome.probe_metrics, Some(("probe", &probe_names)), &[])?,
        ),
        (
            "network_metrics",
            metrics(&outcome.network_metrics, None, &[])?,
        ),
        ("histograms", histograms(outcome)?),
    ];
    if !outcome.packets.is_empty() {
        tables.push(("packets", packets(outcome)?));
    }
    Ok(tables)
}

/// Metrics as `{entity: {metric: value}}`, with every entity. Takes time linear in the number of values.
pub fn metrics_by_entity<'a>(
    values: &'a [Value],
    names: impl Iterator<Item = &'a str>,
    more: &'a [(u32, &'static str, f64)],
) -> BTreeMap<&'a str, BTreeMap<&'a str, f64>> {
    let mut found: Vec<(&str, BTreeMap<&str, f64>)> =
        names.map(|name| (name, BTreeMap::new())).collect();
    let measured = values.iter().map(|v| (v.entity, v.metric.name, v.value));
    for (index, metric, value) in measured.chain(more.iter().copied()) {
        if let Some((_, own)) = found.get_mut(index as usize) {
            own.insert(metric, value);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_scenario::Scenario;
    use bloatlab_sim::{Control, NoPlugins, run};

    fn outcome() -> Outcome {
        let document = r#"{"duration": "2s", "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": "codel"},
            "flows": [{"cca": "cubic"}, {"traffic": {"kind": "ping"}}]}"#;
        let plan = Scenario::from_json(document).unwrap().compile().unwrap();
        run(plan.into(), 1, true, &NoPlugins, &Control::default()).unwrap()
    }

    #[test]
    fn tables_have_the_documented_columns() {
        let outcome = outcome();
        let tables: BTreeMap<_, _> = tables(&outcome).unwrap().into_iter().collect();
        let columns = |name: &str| -> Vec<String> {
            tables[name]
                .schema()
                .fields()
                .iter()
                .map(|f| f.name().clone())
                .collect()
        };
        assert_eq!(columns("link_metrics"), ["link", "metric", "value", "unit"]);
        assert_eq!(columns("probe_series"), ["time_s", "probe", "rtt_ms"]);
        assert_eq!(tables["flow_series"].num_rows(), 20);
        assert_eq!(tables["flows"].num_rows(), 1);
        assert_eq!(tables["probes"].num_rows(), 1);
        assert!(tables["packets"].num_rows() > 1000);
        let told = "time_ns event box flow direction seq ack length size flags ecn dscp";
        assert_eq!(columns("packets").join(" "), told);
        let by = metrics_by_entity(
            &outcome.link_metrics,
            outcome.links.iter().map(|l| l.name.as_str()),
            &[],
        );
        assert!(by["bottleneck"]["utilization"] > 0.5);
    }

    /// Searching all values for each of 100,000 flows would take 50 billion steps.
    #[test]
    fn metrics_of_a_hundred_thousand_flows_are_gathered_in_one_pass() {
        const FLOWS: usize = 100_000;
        let names: Vec<String> = (0..FLOWS).map(|flow| format!("flow_{flow}")).collect();
        let five: Vec<Value> = outcome().flow_metrics.drain(..5).collect();
        let values: Vec<Value> = (0..FLOWS as u32)
            .flat_map(|entity| {
                let value = f64::from(entity);
                let of_flow = move |known: &Value| Value {
                    entity,
                    value,
                    ..*known
                };
                five.iter().map(of_flow)
            })
            .collect();
        let more = [(7, "drops", 3.0)];
        let by = metrics_by_entity(&values, names.iter().map(String::as_str), &more);
        assert_eq!(by.len(), FLOWS);
        assert!(by.values().all(|own| own.len() >= 5));
        assert_eq!(by["flow_99999"]["mean_throughput_l4"], 99_999.0);
        assert_eq!(by["flow_7"]["drops"], 3.0);
    }
}
