/*
 * The fragments of a scan that Python planned, as a relation that Python makes a frame of once Spark knows what a query needs.
 *
 * Compiled in the driver by the Janino compiler that Spark ships, which knows neither lambdas nor inferred generics. Only
 * the driver ever loads these classes: what reaches an executor is Spark's own plan of the frame.
 */
package esker;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CatalystScan;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/** Rows whose columns and filters are settled when a query is planned. */
public class PlannedFragments extends BaseRelation implements CatalystScan {
  private final SparkSession session;
  private final StructType schema;
  private final long bytes;
  private final BiFunction planner;

  /**
   * `planner` answers one question, with a frame or with a text that says what failed: the rows with these columns, by their
   * ordinals, for which these filters, told in JSON, may be true. Spark evaluates the filters again.
   */
  PlannedFragments(SparkSession session, StructType schema, long bytes, BiFunction planner) {
    this.session = session;
    this.schema = schema;
    this.bytes = bytes;
    this.planner = planner;
  }

  public SQLContext sqlContext() {
    return session.sqlContext();
  }

  public StructType schema() {
    return schema;
  }

  public long sizeInBytes() {
    return bytes;
  }

  /** The rows of the frame's plan are Spark's own. */
  public boolean needConversion() {
    return false;
  }

  public RDD buildScan(Seq columns, Seq filters) {
    List ordinals = new ArrayList();
    Iterator each = columns.iterator();
    while (each.hasNext()) ordinals.add(String.valueOf(schema.fieldIndex(((Attribute) each.next()).name())));
    String zone = SQLConf.get().sessionLocalTimeZone();
    Object answer = planner.apply(
        "rows",
        "{\"zone\":\"" + zone + "\",\"columns\":[" + String.join(",", ordinals) + "],\"filters\":["
            + String.join(",", PlannedFiles.trees(filters)) + "]}");
    if (answer instanceof Dataset) return ((Dataset) answer).queryExecution().toRdd();
    throw new IllegalArgumentException(String.valueOf(answer));
  }

  /** Where Python comes in: an object, because a Python object can be an argument of a call but not of reflection. */
  public static class Door {
    public PlannedFragments relation(SparkSession session, StructType schema, long bytes, BiFunction planner) {
      return new PlannedFragments(session, schema, bytes, planner);
    }
  }
}
